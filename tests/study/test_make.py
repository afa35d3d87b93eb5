import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.study import make
from as2lib.study.make import make_all
from tests.study.conftest import stub_fit

TEACHER, STUDENT = "teacher/electra/seed-0", "student/electra/seed-0"
EVERYTHING = [STUDENT, "ensemble/tuned/seed-0"]


@pytest.fixture
def study(root, fits):
    return Study.load("tiny")


@pytest.mark.parametrize("content", ["", '{"identity": "of an older library", "dev_MAP": 0.5}'])
def test_a_run_whose_done_json_says_no_facts_is_not_made(study, content):
    make_all(study.store, ["lexical/word_overlap"])
    (study.store.folder("lexical/word_overlap") / "done.json").write_text(content)
    assert list(Study.load("tiny").store.needed(["lexical/word_overlap"])) == ["lexical/word_overlap"]
    assert make_all(Study.load("tiny").store, ["lexical/word_overlap"]) == ["lexical/word_overlap"]


def test_a_fit_that_fails_leaves_no_run_and_the_next_one_goes_on_from_its_checkpoint(study, root, monkeypatch):
    seen = []

    def fit(task):
        seen.append((task.folder / make.CHECKPOINT).exists())
        if len(seen) == 1:
            (task.folder / make.CHECKPOINT).write_bytes(b"step 3")
            raise KeyboardInterrupt
        return stub_fit(task)

    monkeypatch.setitem(make.MAKERS, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        make_all(study.store, ["teacher/electra/seed-0"])
    assert study.store.find("transfer/electra/seed-0") is None
    make_all(study.store, ["teacher/electra/seed-0"])
    assert seen == [False, True, False]
    assert not (study.store.folder("transfer/electra/seed-0") / make.CHECKPOINT).exists()
    assert not list((root / "work" / "runs").glob("*.partial"))


def test_fits_whose_scores_are_published_are_made_again_where_their_weights_are_asked_for(study, root, fits):
    make_all(study.store, list(study.plan))
    made = sorted(fits)
    study.publish()
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    fits.clear()
    assert main(["fit", "tiny"]) == 0
    assert fits == []
    assert main(["fit", "tiny", "--weights"]) == 0
    assert sorted(fits) == made


@pytest.mark.parametrize("name", ["index.json", "sources.json"])
def test_publishing_refuses_a_file_with_a_merge_conflict_and_changes_nothing(study, root, name):
    make_all(study.store, ["lexical/word_overlap", "lexical/reciprocal_rank"])
    study.publish(["lexical/word_overlap"])
    path = root / "reports" / "tiny" / "runs" / name
    path.write_text(f"<<<<<<< HEAD\n{path.read_text()}>>>>>>> theirs\n")
    before = {path: path.read_bytes() for path in (root / "reports").rglob("*.*")}
    with pytest.raises(ValueError, match=f"reports/tiny/runs/{name}"):
        Study.load("tiny").publish(["lexical/reciprocal_rank"])
    assert {path: path.read_bytes() for path in (root / "reports").rglob("*.*")} == before


def test_what_is_made_is_not_made_again_and_parents_come_first_and_a_changed_budget_makes_what_depends_on_it(study):
    assert make_all(study.store, [STUDENT]) == ["transfer/electra/seed-0", TEACHER, STUDENT]
    make_all(study.store, EVERYTHING)
    assert make_all(Study.load("tiny").store, EVERYTHING) == []
    changed = Study.load("tiny", {"fit.adapt.steps": 5})
    assert make_all(changed.store, EVERYTHING) == [TEACHER, STUDENT]
    with pytest.raises(ValueError):  # a variant
        changed.publish()


def test_published_scores_stand_for_a_run_without_data_and_weights_are_made_only_where_they_are_needed(study, root):
    make_all(study.store, EVERYTHING)
    ours, identity = study.run(STUDENT).scores(), study.store.identity(STUDENT)
    assert sorted(study.publish()) == sorted(name for name in study.plan if not name.endswith("seed-1"))
    assert study.publish() == []
    (root / "work" / "runs").rename(root / "work" / "elsewhere")
    for path in root.glob("*.tsv"):
        path.unlink()
    clone = Study.load("tiny")
    assert clone.store.identity(STUDENT) == identity
    stored = clone.run(STUDENT)
    assert (stored.scores_only, stored.model_folder, stored.facts["dev_MAP"]) == (True, None, 0.5)
    assert stored.log() == [{"step": 2, "loss": 0.5}]
    assert (stored.scores()["score"] - ours["score"]).abs().max() < 1e-9
    others = ["teacher/electra/seed-1", "student/electra/seed-1"]
    weights = "transfer/electra/seed-0"  # for the other seed's teacher
    assert list(clone.store.needed(list(clone.plan))) == ["ensemble/tuned/seed-1", weights, *others]
    path = root / "reports" / "tiny" / "runs" / "lexical" / "word_overlap.parquet"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(ValueError, match=r"lexical/word_overlap.parquet: not as its index.json says"):
        Study.load("tiny").run("lexical/word_overlap").scores()
