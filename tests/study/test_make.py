import json
import os
import threading

import pytest

from as2lib.paths import file_sha256
from as2lib.study import Study, make
from as2lib.study.make import make_all

EVERYTHING = ["kd/electra/seed-0", "ensemble/tuned/seed-0"]


def test_what_is_made_is_not_made_again_and_parents_come_first(root, fits):
    study = Study.load("tiny")
    assert make_all(study.store, ["kd/electra/seed-0"]) == [
        "transfer/electra/seed-0",
        "teacher/electra/seed-0",
        "kd/electra/seed-0",
    ]
    assert make_all(Study.load("tiny").store, ["kd/electra/seed-0"]) == []


@pytest.mark.parametrize("content", ["", "[]", '{"identity": "of an older library", "dev_MAP": 0.5}'])
def test_a_run_whose_done_json_says_no_facts_is_not_made(root, fits, content):
    study = Study.load("tiny")
    make_all(study.store, ["lexical/word_overlap"])
    (study.store.folder("lexical/word_overlap") / "done.json").write_text(content)
    assert Study.load("tiny").store.missing(["lexical/word_overlap"]) == ["lexical/word_overlap"]
    assert make_all(Study.load("tiny").store, ["lexical/word_overlap"]) == ["lexical/word_overlap"]


def test_a_changed_budget_makes_what_depends_on_it_again_and_nothing_else(root, fits):
    make_all(Study.load("tiny").store, EVERYTHING)
    fits.clear()
    changed = Study.load("tiny", {"fit.adapt.steps": 5})
    assert make_all(changed.store, EVERYTHING) == ["teacher/electra/seed-0", "kd/electra/seed-0"]


def test_only_scores_of_an_ensemble_s_members_are_needed(root, fits):
    assert Study.load("tiny").store.missing(["ensemble/mean/seed-0"]) == [
        "lexical/word_overlap",
        "lexical/reciprocal_rank",
        "ensemble/mean/seed-0",
    ]


def test_runs_of_equal_content_are_made_once_under_whatever_names(root, fits):
    study = Study.load("tiny")
    make_all(study.store, ["ensemble/mean/seed-0"])
    from dataclasses import replace

    from as2lib.study.run import System

    same = replace(study.plan["ensemble/mean/seed-0"], name="mine/seed-0")
    study.add([System("mine", "mine", "own", lambda seed: same)])
    assert make_all(study.store, ["mine/seed-0"]) == []
    assert study.run("mine/seed-0").name == "mine/seed-0"


def test_a_fit_that_fails_leaves_no_run_and_the_next_one_goes_on_from_its_checkpoint(root, fits, monkeypatch):
    study = Study.load("tiny")
    whole = make.MAKERS["fit"]

    def killed(job):
        (job.folder / make.CHECKPOINT).write_bytes(b"step 3")
        raise KeyboardInterrupt

    monkeypatch.setitem(make.MAKERS, "fit", killed)
    with pytest.raises(KeyboardInterrupt):
        make_all(study.store, ["teacher/electra/seed-0"])
    assert study.store.find("transfer/electra/seed-0") is None
    seen = []

    def goes_on(job):
        seen.append((job.folder / make.CHECKPOINT).exists())
        return whole(job)

    monkeypatch.setitem(make.MAKERS, "fit", goes_on)
    make_all(study.store, ["teacher/electra/seed-0"])
    assert seen == [True, False]
    assert not (study.store.folder("transfer/electra/seed-0") / make.CHECKPOINT).exists()
    assert not list((root / "work" / "runs").glob("*.partial"))


def test_a_kill_between_the_last_file_and_the_rename_makes_the_run_again(root, fits, monkeypatch):
    study = Study.load("tiny")
    replace = os.replace

    def killed(source, target):
        if str(source).endswith(".partial"):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        make_all(study.store, ["lexical/word_overlap"])
    assert study.store.find("lexical/word_overlap") is None
    monkeypatch.setattr(os, "replace", replace)
    make_all(study.store, ["lexical/word_overlap"])
    assert len(study.run("lexical/word_overlap").scores()) == 72


def test_two_at_once_make_a_run_once(root, fits):
    study = Study.load("tiny")
    make_all(study.store, ["transfer/electra/seed-0"], model=True)
    fits.clear()
    both = [
        threading.Thread(target=make_all, args=(Study.load("tiny").store, ["teacher/electra/seed-0"])) for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert fits == ["teacher/electra/seed-0"]


def test_a_notebook_of_the_graph_makes_nothing_and_names_what_is_missing(root, fits, monkeypatch):
    monkeypatch.setenv("AS2_MAKE_NOTHING", "1")
    with pytest.raises(FileNotFoundError, match="not made yet: lexical/word_overlap"):
        Study.load("tiny").run("lexical/word_overlap")


def test_published_scores_stand_for_a_run_and_weights_are_made_only_where_they_are_needed(root, fits):
    study = Study.load("tiny")
    make_all(study.store, EVERYTHING)
    ours = study.run("kd/electra/seed-0").scores()
    assert study.publish() == [
        "lexical/word_overlap",
        "lexical/reciprocal_rank",
        "ensemble/tuned/seed-0",
        "transfer/electra/seed-0",
        "teacher/electra/seed-0",
        "kd/electra/seed-0",
    ]
    assert study.publish() == []
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    clone = Study.load("tiny")
    stored = clone.run("kd/electra/seed-0")
    assert stored.published
    assert stored.model_folder is None
    assert stored.log() == [{"step": 2, "loss": 0.5}]
    assert (stored.scores()["score"] - ours["score"]).abs().max() < 1e-9
    assert clone.store.missing(list(clone.plan), model=False) == [
        "ensemble/mean/seed-0",
        "ensemble/mean/seed-1",
        "ensemble/tuned/seed-1",
        "transfer/electra/seed-0",  # its weights, for the other seed's teacher
        "teacher/electra/seed-1",
        "kd/electra/seed-1",
    ]


def test_a_clone_without_data_has_the_identities_that_were_published(root, fits):
    study = Study.load("tiny")
    make_all(study.store, EVERYTHING)
    study.publish()
    before = study.store.identity("kd/electra/seed-0")
    for path in root.glob("*.tsv"):
        path.unlink()
    assert Study.load("tiny").store.identity("kd/electra/seed-0") == before
    assert Study.load("tiny").run("kd/electra/seed-0").facts["dev_MAP"] == 0.5


def test_published_scores_that_were_changed_are_refused_by_name(root, fits):
    study = Study.load("tiny")
    make_all(study.store, ["lexical/word_overlap"])
    study.publish()
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    path = root / "reports" / "tiny" / "runs" / "lexical" / "word_overlap.parquet"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(ValueError, match=r"lexical/word_overlap.parquet: not as its index.json says"):
        Study.load("tiny").run("lexical/word_overlap").scores()


@pytest.mark.parametrize("content", [b'{"lexical/word_overlap": ', b"[]", b"\xff", b'{"a": 1}'])
def test_an_index_that_can_t_be_read_is_refused_and_left_as_it_is(root, fits, content):
    study = Study.load("tiny")
    make_all(study.store, ["lexical/word_overlap"])
    path = root / "reports" / "tiny" / "runs" / "index.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"reports/tiny/runs/index.json: expected"):
        study.publish(["lexical/word_overlap"])
    assert path.read_bytes() == content


def test_publishing_adds_to_what_is_published(root, fits):
    study = Study.load("tiny")
    study.publish(["lexical/word_overlap"])
    study.publish(["lexical/reciprocal_rank"])
    index = json.loads((root / "reports" / "tiny" / "runs" / "index.json").read_text())
    assert set(index) == {"lexical/word_overlap", "lexical/reciprocal_rank"}
    with pytest.raises(ValueError, match="as its file says"):
        Study.load("tiny", {"threads": 2}).publish()


def test_a_teacher_whose_logits_are_published_teaches_without_its_weights(root, fits):
    study = Study.load("tiny")
    make_all(study.store, ["teacher/electra/seed-0"])
    teacher = study.run("teacher/electra/seed-0")
    pairs = study.store.learnt_from(study.plan["kd/electra/seed-0"])
    logits = teacher.scores("dev")[["score"]].rename(columns={"score": "logit_0"})
    (teacher.folder / "logits").mkdir()
    logits.to_parquet(teacher.folder / "logits" / f"{pairs}.parquet")
    study.publish(["teacher/electra/seed-0", "transfer/electra/seed-0"])
    (teacher.folder / "model" / "model.safetensors").unlink()
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    clone = Study.load("tiny")
    assert clone.store.missing(["kd/electra/seed-0"]) == ["transfer/electra/seed-0", "kd/electra/seed-0"]
    assert clone.run("teacher/electra/seed-0").logits(pairs) is not None


def test_check_names_files_that_are_not_as_they_were_written(root, fits):
    study = Study.load("tiny")
    make_all(study.store, ["kd/electra/seed-0"])
    assert study.store.check() == []
    folder = study.store.folder("kd/electra/seed-0")
    (folder / "log.jsonl").write_text("{}")
    (folder / "model" / "model.safetensors").unlink()
    lines = study.store.check()
    assert [line.partition(": ")[2] for line in lines] == ["not as it was written", "missing"]


def test_a_run_knows_the_commit_and_the_hashes_of_its_files(root, fits):
    study = Study.load("tiny")
    stored = study.run("lexical/word_overlap")
    done = json.loads((stored.folder / "done.json").read_text())
    assert done["identity"] == stored.identity
    assert done["files"]["scores/test.parquet"] == file_sha256(stored.folder / "scores" / "test.parquet")
    assert stored.commit == make.git_commit()
