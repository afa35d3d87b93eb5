"""`as2 rank`, `as2 score` and `as2 compare`."""

import io
import json
import os
import random
from functools import partial
from itertools import pairwise
from pathlib import Path

import ir_measures
import pandas
import pytest
import torch
from safetensors.torch import load_file, save_file

from as2lib.cli import main
from as2lib.metrics.ranking import per_question
from as2lib.metrics.significance import compare, holm
from tests.first_hour.hub_like import public_model
from tests.study.conftest import WORDS, write_pairs


def test_what_exists_is_a_file_and_all_else_a_question(folder, capsys, monkeypatch):
    assert main(["rank", "bm25", "--", "-5 degrees ?", "~", "什么" * 85]) == 0
    assert capsys.readouterr().out.count("\n") == 2
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


READERS = {"csv": pandas.read_csv, "tsv": pandas.read_table, "parquet": pandas.read_parquet}
READERS["jsonl"] = partial(pandas.read_json, lines=True)


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


def write_judged_run(seed: int = 0) -> None:
    """judgements.qrels, and a run with few different scores: ties in most questions; a question of three has none."""
    generator = random.Random(seed)
    judgements, run = [], []
    for question in range(40):
        for candidate in range(6):
            grade = int(question % 3 > 0 and generator.random() < 0.3)
            judgements.append(f"q{question} 0 c{candidate} {grade}")
            run.append(f"q{question} Q0 c{candidate} {candidate + 1} {generator.randrange(4)} other")
    Path("judgements.qrels").write_text("\n".join(judgements) + "\n")
    Path(f"{seed}.run").write_text("\n".join(run) + "\n")


def test_a_run_and_its_judgements_have_the_metrics_that_are_printed(folder, capsys):
    public_model(folder / "model", labels=1)
    measures = ["P@1", "AP", "RR", "nDCG@10", "R@2", "Success@1"]
    assert main(["score", "model", "my.tsv", "--trec", "my.run", "--measures", " ".join(measures), "--json"]) == 0
    [printed] = json.loads(capsys.readouterr().out)
    judgements, run = ir_measures.read_trec_qrels("my.qrels"), ir_measures.read_trec_run("my.run")
    expected = ir_measures.calc_aggregate(map(ir_measures.parse_measure, measures), judgements, run)
    assert (printed.pop("run"), printed.pop("questions")) == ("my.tsv", 30)
    assert sorted(printed.values()) == pytest.approx(sorted(100 * value for value in expected.values()), abs=1e-3)


def test_score_and_compare_count_the_same_questions_and_without_labels_scores_are_printed(folder, capsys):
    rows = Path("my.tsv").read_text().splitlines()
    Path("plain.tsv").write_text("\n".join(line.rsplit("\t", 1)[0] for line in rows) + "\n")
    assert main(["score", "bm25", "plain.tsv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 121
    rows += [f"none{i}\twhat is it ?\tit is {word}\t0" for i in range(5) for word in WORDS[:3]]
    Path("some.tsv").write_text("\n".join(rows) + "\n")
    assert main(["score", "word_overlap", "some.tsv", "--trec", "my.run"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith(" 30")
    assert main(["compare", "my.run", "my.run", "my.qrels"]) == 0
    assert "30 questions, policy answered" in capsys.readouterr().out


def compared(capsys, *arguments):
    assert main(["compare", *arguments, "--json", "--out", "values.csv"]) == 0
    return json.loads(capsys.readouterr().out), pandas.read_csv("values.csv", index_col="question_id")


@pytest.mark.parametrize("questions", ["answered", "all"])
def test_runs_are_compared_question_by_question_with_holms_p(folder, capsys, questions):
    for seed in (2, 1, 0):
        write_judged_run(seed)
    files = ["0.run", "1.run", "2.run", "judgements.qrels"]
    rows, table = compared(capsys, *files, "--measures", "AP R@2", "--questions", questions, "--baseline", "1.run")
    assert len(table) == (40 if questions == "all" else (table["0.run AP"] > 0).sum())
    tests = [compare(table[f"{seed}.run AP"], table["1.run AP"]) for seed in (0, 2)]
    assert [row["run"] for row in rows] == files[:3]
    assert [rows[0]["p"], rows[2]["p"]] == pytest.approx(holm([test.p for test in tests]), abs=1e-4)
    differences = [100 * test.difference for test in tests]
    assert [rows[0]["difference"], rows[2]["difference"]] == pytest.approx(differences, abs=1e-3)
    assert rows[1]["difference"] is None
    assert rows[1]["R@2"] == pytest.approx(100 * table["1.run R@2"].mean(), abs=1e-3)
    readers = (ir_measures.read_trec_run("0.run"), ir_measures.read_trec_qrels("judgements.qrels"))
    run = pandas.merge(*map(pandas.DataFrame, readers), on=["query_id", "doc_id"])
    expected = per_question(run["query_id"], run["relevance"], run["score"], questions)["AP"]
    assert table["0.run AP"].to_dict() == pytest.approx(expected.to_dict())


def test_seeds_of_a_system_are_compared_as_one(folder, capsys):
    for seed in range(3):
        write_judged_run(seed)
    rows, _ = compared(capsys, "./0.run", "judgements.qrels", "--a", "[0-2].run", "--measures", "AP")
    _, each = compared(capsys, "0.run", "1.run", "2.run", "judgements.qrels", "--measures", "AP")
    assert [row["run"] for row in rows] == ["0.run", "[0-2].run"]
    assert [row["run"] for row in compared(capsys, "0.run", "./0.run", "judgements.qrels")[0]] == ["0.run", "./0.run"]
    assert rows[1]["MAP"] == pytest.approx(100 * each.to_numpy().mean(), abs=1e-3)
    assert rows[1]["p"] == pytest.approx(compare(each.mean(axis=1), each["0.run AP"]).p, abs=1e-4)
    judged = [line.split() for line in Path("judgements.qrels").read_text().splitlines()]
    Path("best.run").write_text("".join(f"{name} Q0 {answer} 1 {grade} x\n" for name, _, answer, grade in judged))
    files = ["0.run", "best.run", "judgements.qrels"]
    for baseline, verdict in (("0.run", "better"), ("best.run", "worse")):
        assert verdict in {row["verdict"] for row in compared(capsys, *files, "--baseline", baseline)[0]}


def test_what_a_run_lacks_counts_as_zero_and_is_said(folder, capsys):
    Path("my.qrels").write_text("q1 0 a 1.0\nq1 0 b 1\nq2 0 a 1\nq3 0 a 0\n")
    Path("1.run").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 c 2 1.0 x\n")
    Path("2.run").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 b 2 1.0 x\nq2 Q0 a 1 1.0 x\n")
    assert main(["compare", "1.run", "2.run", "my.qrels", "--measures", "AP"]) == 0
    output = capsys.readouterr()
    assert [line.split()[1] for line in output.out.splitlines()[1:3]] == ["25.00", "100.00"]
    assert "1.run: lacks 3 judged candidates, never found; 1 of its own are not judged" in output.err
    assert "2.run: lacks 1 judged candidates" in output.err


@pytest.mark.parametrize(
    ("run", "judgements"),
    [
        ("q1 Q0 a 1 2.0 x", "1 0 a 1\n2 0 a 0"),  # no question in common
        ("q1 Q0 a 1 2.0 x", "q1 0 b 1\nq2 0 a 0"),  # no candidate
        ("q1 Q0 a 1 nan x", "q1 0 a 1"),
        ("q1 Q0 a 1 2.0 x", "q1 0 a 0.5\nq2 0 a 1"),  # row 1 of the judgements
    ],
)
def test_files_that_do_not_fit_are_refused(folder, capsys, run, judgements):
    Path("my.run").write_text(run + "\n")
    Path("my.qrels").write_text(judgements + "\n")
    assert main(["compare", "my.run", "my.run", "my.qrels"]) == 2
    output = capsys.readouterr()
    assert (output.out, len(output.err.splitlines()), "measures" in output.err) == ("", 1, False)
