"""`as2 init`: a study of one's own pairs, in a file that reads from top to bottom, on which every command works."""

from pathlib import Path

import pandas
import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.data import load_parts, sets
from tests.first_hour.hub_like import WORDS, public_model, write_pairs

HARD = ['a "quoted" tab\tand\nline', "=1+1", "NA", "null", "łódź — ✓", " spaces ", "1.0", "it's; here, too"]


@pytest.fixture(autouse=True)
def encoder(folder):
    public_model(folder / "encoder", labels=None)


def init(*options: str, pairs: str = "my.tsv") -> int:
    return main(["init", pairs, *options])


def test_splits_are_made_by_question_and_every_text_is_kept(folder):
    questions = [(f"q{i}", f"{word} {i} {HARD[i % 8]}") for i, word in enumerate(WORDS * 3)]
    rows = [(*question, f"{HARD[j]} {j}", j % 2) for question in questions for j in range(4)]
    columns = ["question_id", "question", "answer", "label"]
    pandas.DataFrame(rows, columns=columns).to_parquet("own.parquet")
    assert init("--quick", "--encoder", "encoder", pairs="own.parquet") == 0
    target = Study.load("own").data.target
    splits = [load_parts(getattr(target, name), "all") for name in sets.SPLITS]
    assert sorted(tuple(row[name] for name in columns) for part in splits for row in part) == sorted(rows)
    assert sum(len(part.unique("question")) for part in splits) == len(questions)
    assert not list(folder.rglob("data/**/*.tsv"))


@pytest.mark.parametrize("options", [["--quick"], ["--encoder", "encoder"]])
def test_a_study_is_planned_at_once(folder, capsys, options):
    assert init(*options) == 0
    capsys.readouterr()
    assert main(["plan", "my"]) == 0
    output = capsys.readouterr().out
    assert "mhs/3h1/seed-0" in output
    assert ("mhs/3h1/seed-2" in output) == ("--quick" not in options)


def test_a_quick_study_has_few_questions_and_steps(folder):
    write_pairs(folder / "my.tsv", questions=900)
    assert init("--quick", "--encoder", "encoder") == 0
    study = Study.load("my")
    splits = [load_parts(getattr(study.data.target, name), "all") for name in sets.SPLITS]
    assert [len(part.unique("question_id")) for part in splits] == [200, 30, 60]
    assert study.fit.adapt.steps <= 20
    assert len(study.plan) < 40


def test_a_folder_of_splits_is_read_where_it_is(folder):
    Path("theirs").mkdir()
    for split, questions in {"train": 30, "dev": 20, "test": 25}.items():
        path = write_pairs(folder / "theirs" / f"{split}.tsv", questions, header="query sentence is_correct")
        path.write_text(path.read_text().replace("where is", f"{split} : where is"))
    assert init("--encoder", "encoder", pairs="theirs") == 0
    target = Study.load("theirs").data.target
    assert target.test == ["theirs:test"]
    assert len(load_parts(target.test, "all")) == 100
    assert not Path("data").exists()


def test_what_is_there_is_not_written_over(folder, capsys):
    assert init("--quick") == 0
    before = {path: path.read_bytes() for path in (*Path("data").rglob("*.jsonl"), Path("params/my.yaml"))}
    write_pairs(folder / "others.tsv", questions=33)
    assert init("--quick") == 2
    assert init("--quick", "--name", "my", pairs="others.tsv") == 2
    Path("params/my.yaml").rename("params/renamed.yaml.bak")
    assert init("--quick") == 2  # the data of a study whose file is elsewhere now
    Path("params/renamed.yaml.bak").rename("params/my.yaml")
    assert {path: path.read_bytes() for path in before} == before
    assert init("--quick", "--force") == 0
    assert init("--quick", "--force", "--name", "my", pairs="data/my/train.jsonl") == 2  # its own files
    assert {path: path.read_bytes() for path in before} == before


def test_a_refused_study_leaves_nothing(folder, capsys):
    write_pairs(folder / "few.tsv", questions=6)
    for arguments in (["few.tsv"], ["my.tsv", "--encoder", "no/such"], ["my.tsv", "--name", "7"], ["no.tsv"]):
        assert main(["init", *arguments]) == 2
        assert capsys.readouterr().err.startswith("as2 init:")
    assert not Path("params").exists()
    assert not Path("data").exists()


def test_a_system_of_ones_own_is_planned_fitted_and_shown(folder, capsys):
    assert init("--quick", "--encoder", "encoder") == 0
    with open("params/my.yaml", "a") as file:
        file.write("own:\n  mine:\n    loss: ranknet\n")
    assert main(["fit", "my", "own/mine/seed-0"]) == 0
    capsys.readouterr()
    assert main(["show", "own/mine/seed-0", "--study", "my"]) == 0
    output = capsys.readouterr().out
    assert "ranknet" in output
    assert "MAP" in output
    assert main(["score", "own/mine/seed-0", "--study", "my"]) == 0
    assert "(6 questions" in capsys.readouterr().out
    assert main(["rank", "own/mine/seed-0", "where is the red ?", "the red is here", "it is", "--study", "my"]) == 0


def test_what_no_study_needs_is_said_and_then_removed(folder, capsys):
    assert init("--quick", "--encoder", "encoder") == 0
    assert main(["fit", "my", "base/electra/seed-0"]) == 0
    (made,) = Path("work/runs").iterdir()
    capsys.readouterr()
    assert main(["clean"]) == 0
    assert "0 things" in capsys.readouterr().out
    path = Path("params/my.yaml")
    path.write_text(path.read_text().replace("steps: 20", "steps: 10"))
    assert main(["clean"]) == 0
    assert str(made) in capsys.readouterr().out
    assert made.exists()
    assert main(["clean", "--yes"]) == 0
    assert not made.exists()
    assert Path("data/my/train.jsonl").exists()
