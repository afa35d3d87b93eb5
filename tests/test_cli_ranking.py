"""`as2 rank`: questions of any form leave csv, JSON lines or a run."""

import csv
import io
import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

from as2lib.cli import main
from as2lib.models.cascade import CascadeTransformer
from tests.first_hour.hub_like import ROOT, WORDS, public_model, write_pairs


def write_lists(rows: list[dict]) -> None:
    Path("lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def questions(number: int = 6) -> list[dict]:
    candidates = [f"the {word}" for word in WORDS]
    return [
        {"question_id": f"q {i}", "question": f"where is the {word} ?", "candidates": candidates}
        for i, word in enumerate(WORDS[:number])
    ]


def test_questions_with_lists_of_candidates_are_ranked_as_pairs_are(folder, capsys):
    write_lists(questions())
    lines = ["question_id\tquestion\tanswer"]
    for row in questions():
        lines += [f"{row['question_id']}\t{row['question']}\t{candidate}" for candidate in row["candidates"]]
    Path("pairs.tsv").write_text("\n".join(lines) + "\n")
    assert main(["rank", "lexical/word_overlap", "lists.jsonl"]) == 0
    output = capsys.readouterr().out
    assert main(["rank", "lexical/word_overlap", "pairs.tsv"]) == 0
    assert capsys.readouterr().out == output
    first = next(csv.DictReader(output.splitlines()))
    assert (first["question_id"], first["rank"], first["answer"]) == ("q 0", "1", f"the {WORDS[0]}")


def test_a_run_keeps_the_candidates_ids_and_its_scores_fall_with_rank(folder):
    public_model(folder / "plain", labels=2, num_hidden_layers=4)
    public_model(folder / "cascade", labels=2)  # for its tokenizer
    CascadeTransformer.from_backbone(folder / "plain", exits=[1, 2, 4]).save_pretrained(folder / "cascade")
    lines = ["qid\tquery\tpassage\tdocid"]
    for number in range(5):
        lines += [f"t {number}\twhere is the {WORDS[number]} ?\tthe {w} is here\td-{w}" for w in WORDS]
    Path("theirs.tsv").write_text("\n".join(lines) + "\n")
    for options in (["cascade", "--alpha", "0.4"], ["cascade"], ["lexical/word_overlap"]):
        assert main(["rank", options[0], "theirs.tsv", *options[1:], "--out", "their.run"]) == 0
        rows = [line.split() for line in Path("their.run").read_text().splitlines()]
        assert {row[0] for row in rows} == {f"t%20{number}" for number in range(5)}
        assert {row[2] for row in rows} == {f"d-{word}" for word in WORDS}
        for start in range(0, len(rows), len(WORDS)):
            question = rows[start : start + len(WORDS)]
            scores = [float(row[4]) for row in question]
            assert [int(row[3]) for row in question] == list(range(1, len(WORDS) + 1))
            assert scores == sorted(scores, reverse=True)


def test_only_the_best_are_written_where_that_is_asked_for(folder, capsys):
    assert main(["rank", "lexical/bm25", "my.tsv", "--top", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 31


def test_what_exists_is_a_file_and_all_else_a_question(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\ufeffthe red is here\nit is in notes.tsv\n"))
    assert main(["rank", "lexical/word_overlap", "what is in notes.tsv"]) == 0
    ranked = capsys.readouterr().out
    assert "it is in notes.tsv" in ranked.splitlines()[0]
    assert "\ufeff" not in ranked
    monkeypatch.setattr("sys.stdin", io.StringIO())
    Path("notes.txt").write_text("no pairs\n")
    refused = (["my.tsv", "the museum"], ["none.tsv"], ["a question", "--out", "x.csv"], ["notes.txt"], ["-"])
    for arguments in refused:
        assert main(["rank", "lexical/word_overlap", *arguments]) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert arguments[0] in output.err


@pytest.mark.parametrize("name", ["x.run.gz", "x.json", "x.txt", "x"])
def test_an_end_of_a_name_is_honoured_or_refused(folder, capsys, name):
    for command in ("rank", "score"):
        assert main([command, "lexical/bm25", "my.tsv", "--out", name]) == 2
        assert name in capsys.readouterr().err
    assert not Path(name).exists()


READERS = {
    "csv": pandas.read_csv,
    "tsv": partial(pandas.read_csv, sep="\t"),
    "jsonl": partial(pandas.read_json, lines=True),
    "parquet": pandas.read_parquet,
}


@pytest.mark.parametrize("suffix", READERS)
def test_ids_come_back_in_every_format_from_pairs_and_from_lists(folder, suffix):
    Path("ids.tsv").write_text("qid\tquestion\tdocid\tanswer\nq7\tthe red ?\td9\thill\nq7\tthe red ?\td4\tthe red\n")
    candidates = [{"id": "d9", "text": "hill"}, {"id": "d4", "text": "the red", "url": "/4"}]
    Path("ids.jsonl").write_text(json.dumps({"qid": "q7", "question": "the red ?", "candidates": candidates}) + "\n")
    for source in ("ids.tsv", "ids.jsonl"):
        assert main(["rank", "lexical/word_overlap", source, "--out", f"ranked.{suffix}"]) == 0
        table = READERS[suffix](f"ranked.{suffix}")[["question_id", "rank", "candidate_id", "answer"]]
        assert table.to_numpy().tolist() == [["q7", 1, "d4", "the red"], ["q7", 2, "d9", "hill"]]
        assert main(["rank", "lexical/word_overlap", source, "--out", "ranked.run"]) == 0
        assert [line.split()[2] for line in Path("ranked.run").read_text().splitlines()] == ["d4", "d9"]


def test_run_files_order_candidates_whose_probabilities_are_all_one(folder, capsys):
    path = public_model(folder / "sure", labels=1) / "model.safetensors"
    save_file(load_file(path) | {"classifier.bias": torch.full((1,), 60.0)}, path, metadata={"format": "pt"})
    write_lists(questions(1))
    write_pairs(folder / "few.tsv", questions=1)
    assert main(["rank", "sure", "lists.jsonl", "--out", "ranked.run"]) == 0
    assert main(["score", "sure", "few.tsv", "--trec", "scored.run", "--out", "scored.csv"]) == 0
    for file in ("ranked.run", "scored.run"):
        scores = [float(line.split()[4]) for line in Path(file).read_text().splitlines()]
        assert all(first > second > 37 for first, second in pairwise(scores))
    table = pandas.read_csv("scored.csv")
    assert set(table["score"]) == {1.0}
    assert table["log_odds"].nunique() == len(table)


def test_a_run_without_a_model_of_its_own_is_refused(monkeypatch):
    from as2lib import Study
    from as2lib.commands.named import load_ranker

    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    for name in ("shuffled/cosinet/list/seed-0", "ensemble/students/seed-0"):
        with pytest.raises(ValueError, match=name):
            load_ranker(name, lambda: Study.load("wikiqa"))
