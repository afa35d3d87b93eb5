import io
import json
import os
from functools import partial
from itertools import pairwise
from pathlib import Path

import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

from as2lib.cli import main
from tests.first_hour.hub_like import WORDS, public_model, write_pairs


def test_what_exists_is_a_file_and_all_else_a_question(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\ufeffthe red is here\nit is in notes.tsv\n"))
    assert main(["rank", "word_overlap", "what is in notes.tsv"]) == 0
    ranked = capsys.readouterr().out
    assert "it is in notes.tsv" in ranked.splitlines()[0]
    assert "\ufeff" not in ranked
    monkeypatch.setattr("sys.stdin", io.StringIO())
    Path("notes.txt").write_text("no pairs\n")
    os.mkfifo("pipe")  # as /dev/stdin is one, whose lines would be candidates
    refused = (["pipe"], ["my.tsv", "the museum"], ["none.tsv"], ["a question", "--out", "x.csv"], ["notes.txt"], ["-"])
    for arguments in refused:
        assert main(["rank", "word_overlap", *arguments]) == 2
        output = capsys.readouterr()
        assert output.out == ""
        assert arguments[0] in output.err


@pytest.mark.parametrize("question", ["~what is it", "什么" * 85, "-5 degrees ?"])
def test_a_question_is_any_text(folder, capsys, question):
    assert main(["rank", "bm25", "--", question, "-5 degrees", "~"]) == 0
    assert capsys.readouterr().out.count("\n") == 2


READERS = {
    "csv": pandas.read_csv,
    "tsv": partial(pandas.read_csv, sep="\t"),
    "jsonl": partial(pandas.read_json, lines=True),
    "parquet": pandas.read_parquet,
}


@pytest.mark.parametrize("suffix", READERS)
def test_ids_come_back_in_every_format(folder, suffix):
    rows = (f"q 7\tthe red ?\t{row}\n" for row in ("d9\thill", "d4\tthe red", "d1\tboat"))
    Path("ids.tsv").write_text("qid\tquestion\tcandidate_id\tanswer\n" + "".join(rows))
    assert main(["rank", "word_overlap", "ids.tsv", "--out", f"ranked.{suffix}"]) == 0
    table = READERS[suffix](f"ranked.{suffix}")[["question_id", "rank", "candidate_id", "answer"]]
    best, *equal = table.to_numpy().tolist()  # which keep their order
    assert (best, equal) == (["q 7", 1, "d4", "the red"], [["q 7", 2, "d9", "hill"], ["q 7", 3, "d1", "boat"]])
    assert main(["rank", "word_overlap", "ids.tsv", "--out", "ranked.run"]) == 0
    rows = [line.split()[:4] for line in Path("ranked.run").read_text().splitlines()]
    assert rows == [["q%207", "Q0", name, str(rank)] for rank, name in enumerate(("d4", "d9", "d1"), 1)]


def test_run_files_order_candidates_whose_probabilities_are_all_one(folder, capsys):
    path = public_model(folder / "sure", labels=1) / "model.safetensors"
    save_file(load_file(path) | {"classifier.bias": torch.full((1,), 60.0)}, path, metadata={"format": "pt"})
    rows = [{"question": f"where is the {WORDS[0]} ?", "answer": f"the {word}"} for word in WORDS]
    Path("lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_pairs(folder / "few.tsv", questions=1)
    assert main(["rank", "sure", "lists.jsonl", "--out", "ranked.run"]) == 0
    assert main(["score", "sure", "few.tsv", "--trec", "scored.run", "--out", "scored.csv"]) == 0
    for file in ("ranked.run", "scored.run"):
        scores = [float(line.split()[4]) for line in Path(file).read_text().splitlines()]
        assert all(first > second > 37 for first, second in pairwise(scores))
    table = pandas.read_csv("scored.csv")
    assert set(table["score"]) == {1.0}
    assert table["log_odds"].nunique() == len(table)


def test_the_cosine_of_a_sentence_encoder_ranks(folder, capsys):
    public_model(folder / "encoder", labels=None)
    assert main(["rank", "cosine:encoder", "where is the red ?", "it was a boat", "where is the red ?"]) == 0
    assert "where is the red ?" in capsys.readouterr().out.splitlines()[0]
