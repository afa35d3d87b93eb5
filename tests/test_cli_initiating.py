"""`as2 init`: a study of one's own pairs, in a file that reads from top to bottom, on which every command works."""

import re
from pathlib import Path

import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.data import load_parts, sets
from tests.first_hour.hub_like import COMMIT, cached, public_model
from tests.study.conftest import write_pairs


@pytest.fixture(autouse=True)
def encoder(folder):
    public_model(folder / "encoder", labels=None)


def init(*options: str, pairs: str = "my.tsv") -> int:
    return main(["init", pairs, *options])


def test_a_quick_study_has_few_questions_runs_and_steps(folder):
    write_pairs(folder / "my.tsv", questions=900)
    assert init("--quick", "--encoder", "encoder") == 0
    study = Study.load("my")
    splits = [load_parts(getattr(study.data.target, name), "all") for name in sets.SPLITS]
    questions = [set(part["question"][:]) for part in splits]
    assert [len(part.unique("question_id")) for part in splits] == [200, 30, 60]
    assert len(set.union(*questions)) == sum(map(len, questions))
    assert study.fit.adapt.steps <= 20
    assert "mhs/3h1/seed-0" in study.plan
    assert len(study.plan) < 40


def test_a_folder_of_splits_stays_split_as_it_is(folder):
    Path("theirs").mkdir()
    for split, questions in {"train": 30, "dev": 20, "test": 25}.items():
        write_pairs(folder / "theirs" / f"{split}.tsv", questions, where=f"{split} : where")
    assert init("--encoder", "encoder", pairs="theirs") == 0
    target = Study.load("theirs").data.target
    assert [len(load_parts(getattr(target, split), "all")) for split in sets.SPLITS] == [120, 80, 100]


def test_what_is_there_is_not_written_over(folder, capsys):
    assert init("--quick", "--encoder", "encoder") == 0
    before = {path: path.read_bytes() for path in (*Path("data").rglob("*.jsonl"), Path("params/my.yaml"))}
    write_pairs(folder / "others.tsv", questions=33)
    for pairs in ("my.tsv", "others.tsv"):
        assert init("--quick", "--encoder", "encoder", "--name", "my", pairs=pairs) == 2
    assert {path: path.read_bytes() for path in before} == before


def test_a_system_of_ones_own_is_planned_fitted_and_scored(folder, capsys):
    assert init("--quick", "--encoder", "encoder") == 0
    with open("params/my.yaml", "a") as file:
        file.write("  own:\n    mine:\n      loss: ranknet\n")
    for command in (["rank", "own/mine/seed-0", "red ?", "it is"], ["score", "own/mine/seed-0"]):
        assert main([*command, "--study", "my"]) == 2  # it would train for a while
        assert "`as2 fit my own/mine/seed-0` trains " in capsys.readouterr().err
    assert main(["fit", "my", "own/mine/seed-0"]) == 0
    assert main(["score", "own/mine/seed-0", "--study", "my"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].endswith(" 6")
    assert main(["rank", "own/mine/seed-0", "where is the red ?", "the red is here", "it is", "--study", "my"]) == 0


NAME, CACHED = "nobody/listed-this", "nobody/listed-that"  # the commit of a name is asked for once in a process


def test_a_study_is_planned_before_any_file_of_its_encoder_is_here_and_fitted_from_the_hubs_cache(
    folder, capsys, monkeypatch
):
    assert init("--quick", "--encoder", "encoder") == 0
    path = Path("params/my.yaml")
    path.write_text(path.read_text().replace('name: "encoder"\n', f"name: {NAME}\n"))
    assert main(["plan", "my"]) == 0
    assert "base/pointwise/seed-0" in capsys.readouterr().out
    assert main(["fit", "my", "base/pointwise/seed-0"]) == 1
    assert NAME in capsys.readouterr().out
    path.write_text(path.read_text().replace(NAME, CACHED))
    cached(folder / "encoder", CACHED, monkeypatch)
    assert main(["fit", "my", "base/pointwise/seed-0"]) == 0
    assert main(["plan", "my"]) == 0
    assert re.search(r"base/pointwise/seed-0 +done", capsys.readouterr().out)
    assert Study.load("my").store.ingredients("base/pointwise/seed-0")["weights"] == {"hub": CACHED, "commit": COMMIT}


def test_an_order_that_gives_the_labels_away_is_not_the_studys(folder, capsys):
    head, *rows = (folder / "my.tsv").read_text().splitlines()
    label = head.split("\t").index("label")
    rows.sort(key=lambda row: -int(row.split("\t")[label]))  # questions are brought together again
    (folder / "my.tsv").write_text("\n".join([head, *rows]) + "\n")
    assert init("--quick", "--encoder", "encoder") == 0
    assert "give the labels away" in capsys.readouterr().out
    train = load_parts(Study.load("my").data.target.train, "all").to_pandas()
    assert train.groupby("question_id")["label"].first().mean() < 1
