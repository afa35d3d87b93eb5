import csv
import json
import random

import pytest

from as2lib.__main__ import main
from as2lib.data.own import own_pairs, recognised
from as2lib.data.pairs import load_pairs
from as2lib.study import Study

QUESTIONS = 30


def rows(questions=QUESTIONS, candidates=3):
    """Question i and its candidates; the last of them is correct, but for every tenth question."""
    return [
        {
            "query": f"what is thing {i} ?",
            "sentence": f"thing {i} is number {j}",
            "is_correct": int(j == 2 and i % 10 != 9),
        }
        for i in range(questions)
        for j in range(candidates)
    ]


def write(path, found, delimiter="\t"):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(found)
    return path


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["query", "sentence", "is_correct"], {"question": "query", "answer": "sentence", "label": "is_correct"}),
        (["QuestionID", "Question", "Sentence", "Label"], ["QuestionID", "Question", "Sentence", "Label"]),
        (["qid", "q", "passage", "relevance"], ["qid", "q", "passage", "relevance"]),
        (["frage", "satz", "richtig"], {"question": "frage", "answer": "satz", "label": "richtig"}),
    ],
)
def test_columns_are_recognised_by_what_they_are_called_or_by_what_is_in_them(names, expected):
    if isinstance(expected, list):
        expected = dict(zip(["question_id", "question", "answer", "label"], expected, strict=True))
    values = [["1", "who is it ?", "it is me", "1"], ["1", "who is it ?", "it is red", "0"], ["2", "who ?", "a b", "0"]]
    data = [dict(zip(names, one[-len(names) :], strict=True)) for one in values]
    assert recognised(names, data) == expected


def test_an_id_of_rows_is_no_id_of_questions_and_columns_that_are_not_recognised_are_named():
    data = [{"id": str(i), "query": "who is it ?", "text": f"it is {i}", "gold": str(i % 2)} for i in range(4)]
    assert recognised(list(data[0]), data) == {"question": "query", "answer": "text", "label": "gold"}
    with pytest.raises(
        ValueError, match=r"recognised as label among query, sentence, note; say --columns label=THEIRS"
    ):
        recognised(["query", "sentence", "note"], [{"query": "q ?", "sentence": "an a", "note": "fine"}])


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl"])
def test_a_file_is_split_by_question_the_same_way_in_every_format_and_order(tmp_path, suffix):
    found, path = rows(), tmp_path / f"my.{suffix}"
    random.Random(3).shuffle(found)
    found.sort(key=lambda row: row["query"])
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    else:
        write(path, found, "\t" if suffix == "tsv" else ",")
    own = own_pairs(str(path), tmp_path / "data")
    assert {name: (split.questions, split.answered) for name, split in own.splits.items()} == {
        "train": (21, 19),
        "dev": (3, 3),
        "test": (6, 5),
    }
    asked = {name: set(load_pairs(split.part, questions="all")["question"]) for name, split in own.splits.items()}
    assert len(set.union(*asked.values())) == sum(map(len, asked.values())) == QUESTIONS
    assert "splits: made here by question, at random with seed 0: train 21, dev 3, test 6 questions" in own.said


def test_one_question_under_two_ids_stays_in_one_split_and_rows_that_lie_apart_are_brought_together_and_said(tmp_path):
    found = [{"qid": f"{copy}-{row['query']}", **row} for copy in "ab" for row in rows()]
    own = own_pairs(str(write(tmp_path / "my.tsv", found)), tmp_path / "data")
    for split in own.splits.values():
        assert split.questions == 2 * split.rows["question"].nunique()
    found = rows()
    random.Random(0).shuffle(found)
    own = own_pairs(str(write(tmp_path / "my.tsv", found)), tmp_path / "data")
    assert "rows: those of a question brought together, in their order" in own.said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"is_correct": "3"},
            r"my.tsv, row 2 \(line 3\): is_correct must be 0 or 1 \(or false, true, no, yes\), got '3'",
        ),
        ({"sentence": " "}, r"my.tsv, row 2 \(line 3\): sentence must not be empty"),
    ],
)
def test_a_row_that_is_no_pair_is_named(tmp_path, change, said):
    found = rows()
    found[1] |= change
    with pytest.raises(ValueError, match=said):
        own_pairs(str(write(tmp_path / "my.tsv", found)), tmp_path / "data")


def test_too_few_questions_to_split_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected at least 20 questions with a correct .*got 9 of 10"):
        own_pairs(str(write(tmp_path / "my.tsv", rows(10))), tmp_path / "data")


def test_a_folder_of_splits_is_used_as_it_is_and_one_without_dev_gets_one(root):
    folder = root / "whole"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_bytes((root / f"{split}.tsv").read_bytes())
    own = own_pairs(str(folder), root / "data" / "whole")
    assert [split.part for split in own.splits.values()] == [f"{folder}:{name}" for name in ("train", "dev", "test")]
    assert own.said == []
    (folder / "dev.tsv").unlink()
    write(folder / "train.tsv", rows())
    own = own_pairs(str(folder), root / "data" / "whole")
    assert own.splits["test"].part == f"{folder}:test"
    assert own.splits["dev"].questions == 3


@pytest.fixture
def alone(root, monkeypatch):
    """Neither a known encoder nor a hub."""
    monkeypatch.setattr("as2lib.data.sources.hub_answers", lambda: False)
    monkeypatch.chdir(root)
    return root


def test_init_writes_a_study_of_the_file_that_can_be_planned(alone, capsys):
    write(alone / "My Data.tsv", rows())
    assert main(["init", "My Data.tsv"]) == 0
    said = capsys.readouterr().out
    assert "columns: query as question, sentence as answer, is_correct as label" in said
    assert "small ones from nothing, for sentence-transformers/all-MiniLM-L6-v2 is not on this machine" in said
    assert "then: make study STUDY=my-data" in said
    study = Study.load("my-data")
    assert study.title == "My Data.tsv: 5 answered test questions, small encoders from nothing"
    assert study.data.target.train == ["data/my-data/train.tsv"]
    assert study.plan
    above = [line for line in (alone / "params" / "my-data.yaml").read_text().splitlines() if line.startswith("#")]
    assert all(f"# {line}" in above for line in said.splitlines()[:-1])
    assert main(["init", "My Data.tsv"]) == 2
    assert "params/my-data.yaml is there already: --force" in capsys.readouterr().err


def test_a_quick_study_is_one_seed_without_the_long_notebooks(alone, capsys):
    write(alone / "my.tsv", rows(400))
    assert main(["init", "my.tsv", "--quick"]) == 0
    study, said = Study.load("my"), capsys.readouterr().out
    assert (study.seeds, study.cascade, study.cosinet, study.govern, study.latency) == ([0], None, None, None, None)
    assert len(set(load_pairs("data/my/train.tsv", questions="all")["question_id"])) == 200
    assert "notebooks: 00, 01, 02, 03, 04, 06, 07, 11; left out: 05_latency (no latency), 08_cascade" in said


@pytest.mark.parametrize("quick", [[], ["--quick"]], ids=["whole", "quick"])
def test_a_study_from_an_encoder_reads_no_set_and_runs_no_section_that_is_wikiqas(alone, monkeypatch, quick):
    write(alone / "my.tsv", rows())
    monkeypatch.setattr("as2lib.init.encoder_at_hand", lambda name: True)
    monkeypatch.setattr("as2lib.init.local_folder", lambda name: None)
    assert main(["init", "my.tsv", "--encoder", "sentence-transformers/all-MiniLM-L6-v2", *quick]) == 0
    study = Study.load("my")
    assert (study.second, study.longer, study.kinds, study.govern) == (None, None, None, None)
    read = {part for run in study.plan.values() for parts in run.data.values() for part in parts}
    assert read == {f"data/my/{split}.tsv" for split in ("train", "dev", "test")}


def test_a_study_of_the_embedded_corpus_itself_learns_its_own_training_set_first(alone, capsys):
    few = load_pairs("sample-transfer", "train", "all").select(range(200))
    few.to_csv(alone / "my.tsv", sep="\t")
    assert main(["init", "my.tsv", "--quick"]) == 0
    assert "learnt first: your own training set" in capsys.readouterr().out
    fit = Study.load("my").plan["transfer/electra-base/seed-0"]
    assert fit.data["train"] == fit.data["vocabulary"] == ["data/my/train.tsv"]


def test_an_encoder_that_is_neither_here_nor_on_a_hub_that_answers_is_one_line(alone, capsys):
    write(alone / "my.tsv", rows())
    assert main(["init", "my.tsv", "--encoder", "no/encoder"]) == 2
    said = capsys.readouterr().err
    assert said == "as2 init: --encoder no/encoder: not on this machine, and the hub does not answer\n"
    assert not (alone / "params" / "my.yaml").exists()


@pytest.mark.parametrize("named", ["question_id question answer label", "qid q sentence gold"])
def test_splits_of_one_model_that_share_questions_are_refused_as_a_studys_are(alone, monkeypatch, capsys, named):
    """Question 3 is; question 9 has no correct candidate, so train does not learn from it."""
    (alone / "my").mkdir()
    of = {"train": range(15), "dev": range(15, 30), "test": [3, 9, *range(30, 45)]}
    for split, questions in of.items():
        found = [[f"{split}{i}", *each.values()] for i in questions for each in rows(45)[3 * i : 3 * i + 3]]
        write(alone / "my" / f"{split}.tsv", [dict(zip(named.split(), one, strict=True)) for one in found])
    command = ["train", "my", "--model", "nothing", "--out", "model"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said.startswith("as2 train: train (")
    assert "share 1 question, such as 'what is thing 3 ?'; give each split questions of its own, or allow it" in said
    assert not (alone / "work" / "trained").exists()
    monkeypatch.setattr("as2lib.train.job_of", lambda *_: int("allowed"))
    assert main([*command, "--allow-shared-questions"]) == 2
    assert "'allowed'" in capsys.readouterr().err


def test_a_model_is_trained_alone_and_one_with_a_head_for_each_of_two_teachers(alone, capsys):
    write(alone / "my.tsv", rows())
    command = ["train", "my.tsv", "--model", "nothing", "--epochs", "1", "--precision", "float32"]
    assert main([*command, "--out", "a"]) == 0
    assert main([*command, "--seed", "1", "--out", "b"]) == 0
    assert main([*command, "--teacher", "a", "--teacher", "b", "--out", "both"]) == 0
    said = capsys.readouterr().out
    assert "2 heads, one a teacher" in said
    assert "| trained on | `my.tsv`, its training questions |" in (alone / "both" / "README.md").read_text()
    assert said.count("test: this model") == said.count("test: word overlap") == 3
    assert json.loads((alone / "both" / "config.json").read_text())["heads"] == 2
    assert main(["rank", "both", "what is thing 1 ?", "thing 1 is number 2", "no"]) == 0
    assert main([*command, "--out", "both"]) == 2
    assert main([*command, "--teacher", "nowhere", "--out", "c"]) == 2
    said = capsys.readouterr().err
    assert "--out both: a model is there already" in said
    assert "--teacher nowhere: expected a model folder" in said
