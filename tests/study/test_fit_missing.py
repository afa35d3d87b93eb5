"""Runs are made once, parents first, whatever fails, waits or is killed; and what is said of them."""

import errno

import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.study.make import MAKERS
from as2lib.study.publishing import publish
from as2lib.study.store import ERROR_FILE
from tests.study.conftest import make_all, stub_fit

TEACHER, STUDENT = "teacher/electra/seed-0", "student/electra/seed-0"
EVERYTHING = [STUDENT, "ensemble/tuned/seed-0"]


@pytest.fixture
def study(root, fits):
    return Study.load("tiny")


def test_published_fits_are_made_again_where_their_weights_are_asked_for(study, root, fits, capsys, monkeypatch):
    make_all(study.store, list(study.plan))
    made = sorted(fits)
    publish(study)
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    fits.clear()
    for worker in "01":
        monkeypatch.setenv("AS2_WORKER", worker)
        assert main(["fit", "tiny"]) == 0
    assert fits == []
    assert capsys.readouterr().out.count("nothing to make") == 1
    assert main(["fit", "tiny", "--weights"]) == 0
    assert "lexical/word_overlap" in capsys.readouterr().out
    assert sorted(fits) == made


def test_what_is_made_is_not_made_again_and_parents_come_first_and_a_changed_budget_makes_what_depends_on_it(study):
    assert make_all(study.store, [STUDENT]) == ["transfer/electra/seed-0", TEACHER, STUDENT]
    make_all(study.store, EVERYTHING)
    assert make_all(Study.load("tiny").store, EVERYTHING) == []
    changed = Study.load("tiny", {"fit.adapt.steps": 5})
    assert make_all(changed.store, EVERYTHING) == [TEACHER, STUDENT]
    with pytest.raises(ValueError):  # a variant
        publish(changed)


def test_publishing_adds_and_replaces_drops_nothing_and_refuses_an_index_with_a_merge_conflict(study, root):
    make_all(study.store, ["lexical/word_overlap", STUDENT])
    publish(study)
    before = Study.load("tiny").store.index["runs"]
    path = root / "params" / "tiny.yaml"
    path.write_text(path.read_text().replace("evaluate_every: 2", "evaluate_every: 1"))  # of teacher and student
    changed = Study.load("tiny")
    make_all(changed.store, [TEACHER])
    assert publish(changed) == [TEACHER]
    after = Study.load("tiny").store.index["runs"]
    assert sorted(entry["run"] for entry in after.values()) == sorted(entry["run"] for entry in before.values())
    [key] = after.keys() - before.keys()
    assert after[key]["run"] == TEACHER
    make_all(changed.store, [STUDENT])
    path = root / "reports" / "tiny" / "scores" / "index.json"
    path.write_text(f"<<<<<<< HEAD\n{path.read_text()}>>>>>>> theirs\n")
    before = {path: path.read_bytes() for path in (root / "reports").rglob("*.*")}
    with pytest.raises(ValueError, match=r"reports/tiny/scores/index\.json"):
        publish(Study.load("tiny"), [STUDENT])
    assert {path: path.read_bytes() for path in (root / "reports").rglob("*.*")} == before


def test_published_scores_stand_for_a_run_without_data_and_weights_are_made_only_where_they_are_needed(study, root):
    make_all(study.store, EVERYTHING)
    ours, identity = study.run(STUDENT).scores(), study.store.identity(STUDENT)
    of_ensemble = ["lexical/word_overlap", "lexical/reciprocal_rank", "ensemble/tuned/seed-0"]  # with its members
    assert publish(study, of_ensemble[-1:]) == of_ensemble
    assert sorted(of_ensemble + publish(study)) == sorted(name for name in study.plan if not name.endswith("seed-1"))
    assert publish(study) == []
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    for path in root.glob("*.tsv"):
        path.unlink()
    clone = Study.load("tiny")
    assert clone.store.identity(STUDENT) == identity
    stored = clone.run(STUDENT)
    assert stored.published
    assert (stored.model_folder, stored.facts["dev_MAP"]) == (None, 0.5)
    assert stored.log() == [{"step": 2, "loss": 0.5}]
    assert (stored.scores()[["score", "last"]] - ours[["score", "last"]]).abs().max().max() < 1e-9
    with pytest.raises(ValueError, match="a split that it was scored on, got 'train'"):
        stored.scores("train")
    others = ["teacher/electra/seed-1", "student/electra/seed-1"]
    weights = "transfer/electra/seed-0"  # for the other seed's teacher
    assert clone.store.needed(clone.plan) == ["ensemble/tuned/seed-1", weights, *others]
    path = root / "reports" / "tiny" / "scores" / "lexical" / "word_overlap.parquet"
    path.write_bytes(path.read_bytes() + b"\n")
    for lose in (lambda: None, path.unlink):
        lose()
        with pytest.raises(ValueError, match=r"lexical/word_overlap.parquet: not as its index.json says"):
            Study.load("tiny").run("lexical/word_overlap").scores()


def test_a_run_that_fails_stops_only_what_is_made_from_it_and_is_tried_again_by_the_next(study, monkeypatch, capsys):
    def fit(store, run, folder, progress):
        if run.name == TEACHER:
            raise OSError(errno.ENOSPC, "No space left on device")
        return stub_fit(store, run, folder)

    monkeypatch.setitem(MAKERS, "fit", fit)
    assert main(["fit", "tiny"]) == 1
    lines = capsys.readouterr().out.splitlines()
    [failed] = [line for line in lines if line.startswith("failed: ")]
    assert failed.startswith(f"failed: {TEACHER}: OSError: [Errno 28] No space left on device")
    assert len(lines) == 8  # of nine runs its student is left
    monkeypatch.setitem(MAKERS, "fit", stub_fit)
    assert main(["fit", "tiny"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [f"{TEACHER},", f"{STUDENT},"]
    assert "dev MAP 50.0" in lines[-1]


def test_plan_says_what_each_run_is_at_and_what_is_left(study, capsys):
    make_all(study.store, ["lexical/word_overlap", "transfer/electra/seed-0"], model=True)
    study.store.partial(TEACHER).mkdir()
    (study.store.partial(TEACHER) / ERROR_FILE).write_text("Traceback:\nValueError: no such word\n")
    assert main(["plan", "tiny"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "lexical/word_overlap done" in lines
    assert any(line.startswith(f"{TEACHER} failed: ValueError: no such word (") for line in lines)
    assert f"{STUDENT} to do, from transfer/electra/seed-0, {TEACHER}" in lines
    assert any(line.startswith("tiny: 9 runs: 2 done, ") and "1 failed" in line for line in lines)


@pytest.mark.parametrize("study", ["paper", "paper_asnq", "paper_table2"])
def test_encoders_of_the_hub_without_a_commit_are_unpinned(study, capsys, monkeypatch):
    def names(*changes):
        assert main(["plan", study, *changes]) == 0
        return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("unpinned: "))

    monkeypatch.setattr("as2lib.hub.commit", lambda name, revision: None)
    assert "google/electra-base-discriminator" in names()
    assert "base-d" not in names("--set", f"student.name=google/electra-base-discriminator@{40 * 'a'}")
