"""`as2 init`: a study of one's own pairs, in a file that reads from top to bottom, on which every command works."""

import re
from pathlib import Path

import pandas
import pytest
import yaml

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
    rows = [
        {
            "question_id": f"q{i}",
            "question": f"{word} {i} {HARD[i % 8]}",
            "answer": f"{HARD[j % 8]} {j}",
            "label": j % 2,
        }
        for i, word in enumerate(WORDS * 3)
        for j in range(4)
    ]
    pandas.DataFrame(rows).to_parquet("own.parquet")
    assert init("--quick", "--encoder", "encoder", pairs="own.parquet") == 0
    target = Study.load("own").data.target
    splits = {name: load_parts(getattr(target, name), "all") for name in sets.SPLITS}
    there = [(row["question_id"], row["question"], row["answer"]) for part in splits.values() for row in part]
    assert sorted(there) == sorted((row["question_id"], row["question"], row["answer"]) for row in rows)
    questions = [set(part["question"][:]) for part in splits.values()]
    assert not questions[0] & questions[1]
    assert not (questions[0] | questions[1]) & questions[2]
    assert not list(folder.rglob("data/**/*.tsv"))


def test_the_file_has_a_key_a_line_and_no_reference(folder):
    assert init("--encoder", "encoder") == 0
    text = Path("params/my.yaml").read_text()
    assert not re.search(r"[&*]\w+|<<:|\{", "\n".join(line.partition("#")[0] for line in text.splitlines()))
    content = yaml.safe_load(text)
    assert content["teachers"]["pointwise"]["name"] == "encoder"
    assert isinstance(content["fit"]["adapt"]["learning_rate"], float)
    assert content["data"]["target"]["train"] == "data/my/train.jsonl"


@pytest.mark.parametrize("start", ["nothing", "encoder"])
def test_a_study_is_planned_at_once(folder, capsys, start):
    assert init("--encoder", start) == 0
    capsys.readouterr()
    assert main(["plan", "my"]) == 0
    assert "mhs/3h1/seed-2" in capsys.readouterr().out


def test_a_quick_study_has_few_questions_runs_and_steps(folder):
    write_pairs(folder / "my.tsv", questions=900)
    assert init("--quick", "--encoder", "encoder") == 0
    study = Study.load("my")
    sizes = {
        name: len(load_parts(getattr(study.data.target, name), "all").unique("question_id")) for name in sets.SPLITS
    }
    assert sizes == {"train": 200, "dev": 30, "test": 60}
    assert study.fit.adapt.steps <= 20
    assert "mhs/3h1/seed-0" in study.plan
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
    assert init("--quick", "--encoder", "encoder") == 0
    before = {path: path.read_bytes() for path in (*Path("data").rglob("*.jsonl"), Path("params/my.yaml"))}
    write_pairs(folder / "others.tsv", questions=33)
    for pairs in ("my.tsv", "others.tsv"):
        assert init("--quick", "--encoder", "encoder", "--name", "my", pairs=pairs) == 2
    Path("params/my.yaml").rename("params/renamed.yaml.bak")
    assert init("--quick", "--encoder", "encoder") == 2  # the data of a study whose file is elsewhere now
    Path("params/renamed.yaml.bak").rename("params/my.yaml")
    assert {path: path.read_bytes() for path in before} == before


def test_a_refused_study_leaves_nothing(folder, capsys):
    write_pairs(folder / "few.tsv", questions=6)
    for pairs, *options in (["few.tsv"], ["my.tsv", "--encoder", "no/such"], ["my.tsv", "--name", "7"], ["no.tsv"]):
        assert init("--encoder", "encoder", *options, pairs=pairs) == 2
        assert capsys.readouterr().err.startswith("as2 init:")
    assert not Path("params").exists()
    assert not Path("data").exists()


def test_an_encoder_is_found_from_another_folder_too(folder, monkeypatch):
    Path("elsewhere").mkdir()
    public_model(folder / "elsewhere" / "theirs", labels=None)
    monkeypatch.chdir("elsewhere")
    assert init("--quick", "--encoder", "theirs", pairs="../my.tsv") == 0
    assert Study.load("my").student.name == "elsewhere/theirs"


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


def test_beside_a_study_of_ones_own_stands_nothing_of_the_papers(folder):
    from as2lib.papers import cerberus, claims
    from as2lib.study import results

    assert init("--quick", "--encoder", "encoder") == 0
    path = Path("params/my.yaml")
    kinds = zip(("pointwise", "listwise", "pairwise"), ("electra", "roberta", "albert"), strict=True)
    for name, kind in kinds:  # also where its teachers stand for the papers'
        path.write_text(path.read_text().replace(f"  {name}:\n", f"  {name}:\n    stands_for: {kind}\n"))
    study = Study.load("my")
    published = cerberus.rows.published(study, "table2")["WikiQA"]
    scores = pandas.DataFrame({"system": ["mhs/3h1"] * 2, "seed": 0, "question_id": ["a", "b"], "AP": [1.0, 0.5]})
    scores = scores.assign(**{"P@1": 1.0, "RR": 1.0, "nDCG@10": 1.0})
    assert not any("published" in name for name in results.table(scores, [study.systems["mhs/3h1"]], published))
    assert claims.table(study).empty
    assert not cerberus.rows.published(Study.load("sample"), "table2").empty
