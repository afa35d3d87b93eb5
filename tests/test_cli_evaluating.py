"""`as2 score`, `as2 evaluate` and `as2 compare`, beside ir_measures and what sets are published as."""

import json
import random
from pathlib import Path

import ir_measures
import pandas
import pytest

from as2lib.cli import main
from tests.first_hour.hub_like import WORDS, public_model

TREC = {"P@1": ir_measures.P @ 1, "MAP": ir_measures.AP, "MRR": ir_measures.RR, "nDCG@10": ir_measures.nDCG @ 10}


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


def values(line: str) -> dict[str, float]:
    words = line.partition("(")[0].split()[1:]
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


def test_a_run_has_the_metrics_of_trec_eval_and_our_tie_rule_is_a_line_of_its_own(folder, capsys):
    write_judged_run()
    assert main(["evaluate", "0.run", "judgements.qrels", "--questions", "all"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    expected = ir_measures.calc_aggregate(
        list(TREC.values()), ir_measures.read_trec_qrels("judgements.qrels"), ir_measures.read_trec_run("0.run")
    )
    assert values(first) == {name: round(100 * expected[measure], 2) for name, measure in TREC.items()}
    assert "ties against the system" in second
    assert values(second)["MAP"] < values(first)["MAP"]


def test_any_measure_is_computed_by_its_name(folder, capsys):
    measures = ["--measures", "R@100 nDCG@5 Success@1"]
    assert main(["score", "lexical/word_overlap", "my.tsv", "--trec", "my.run", *measures]) == 0
    assert main(["evaluate", "my.run", "my.tsv", *measures]) == 0
    scored, evaluated, *_ = capsys.readouterr().out.splitlines()
    assert list(values(scored)) == list(values(evaluated)) == ["R@100", "nDCG@5", "Success@1"]


def rows():
    """Pairs with three candidates a question, the second of which is correct."""
    for number, word in enumerate(WORDS):
        for place, other in enumerate((WORDS[number - 1], word, WORDS[number - 2])):
            yield f"Q{number}", f"where is the {word} ?", f"the {other} is here", f"D{number}-{place}", int(place == 1)


def wikiqa(path):
    lines = ["QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"]
    lines += [f"{q}\t{text}\tD1\tA title\t{name}\t{answer}\t{label}" for q, text, answer, name, label in rows()]
    path.write_text("\n".join(lines) + "\n")


def jsonl(path):
    names = ("qid", "query", "passage", "docid", "relevance")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows()))


def selqa(path):
    table = pandas.DataFrame(rows(), columns=["question_id", "question", "candidate", "id", "label"])
    table[["question", "candidate", "label"]].to_parquet(path)


@pytest.mark.parametrize(
    ("write", "name"), [(wikiqa, "WikiQA-test.tsv"), (jsonl, "theirs.jsonl"), (selqa, "selqa.parquet")]
)
def test_what_is_scored_judges_too_whatever_its_columns_are_called(folder, capsys, write, name):
    write(folder / name)
    assert main(["score", "lexical/word_overlap", name, "--trec", "my.run"]) == 0
    scored = values(capsys.readouterr().out)
    assert main(["rank", "lexical/word_overlap", name, "--out", "ranked.run"]) == 0
    capsys.readouterr()
    for run in ("my.run", "ranked.run"):
        assert main(["evaluate", run, name, "--questions", "answered"]) == 0
        output = capsys.readouterr()
        assert values(output.out.splitlines()[-1]) == scored
        assert "no judgement" not in output.err


def test_scores_keep_the_ids_of_the_candidates(folder):
    wikiqa(folder / "WikiQA-test.tsv")
    for suffix in ("csv", "parquet"):
        assert main(["score", "lexical/bm25", "WikiQA-test.tsv", "--out", f"scores.{suffix}"]) == 0
    text, table = pandas.read_csv("scores.csv"), pandas.read_parquet("scores.parquet")
    assert text["candidate_id"].tolist() == [name for *_, name, _ in rows()] == table["candidate_id"].tolist()
    assert text["score"].tolist() == pytest.approx(table["score"].tolist(), abs=1e-14)


def test_a_model_scores_alike_by_each_backend_and_in_any_batches(folder, capsys):
    pytest.importorskip("onnxruntime")
    public_model(folder / "model", labels=1)
    assert main(["export", "model", "served", "--to", "onnx"]) == 0
    lines = []
    for model, *options in (["model"], ["served"], ["model", "--batch-size", "3"], ["model", "--max-length", "6"]):
        capsys.readouterr()
        assert main(["score", model, "my.tsv", *options]) == 0
        lines.append(capsys.readouterr().out)
    assert lines[0] == lines[1] == lines[2] != lines[3]


def test_pairs_without_labels_are_scored_and_printed(folder, capsys):
    lines = [line.rsplit("\t", 1)[0] for line in Path("my.tsv").read_text().splitlines()]
    Path("plain.tsv").write_text("\n".join(lines) + "\n")
    assert main(["score", "lexical/bm25", "plain.tsv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 121


def test_two_runs_are_compared_question_by_question(folder, capsys):
    for seed in (1, 0):
        write_judged_run(seed)
    assert main(["compare", "0.run", "1.run", "judgements.qrels", "--out", "by_question.csv", "--measures", "AP"]) == 0
    line, last = capsys.readouterr().out.splitlines()
    table = pandas.read_csv("by_question.csv")
    assert len(table) == 40
    assert (table["run1 AP"] - table["run2 AP"]).tolist() == pytest.approx(table["difference AP"].tolist(), abs=1e-12)
    assert f"{100 * table['difference AP'].mean():+.2f}" in line
    assert "interval" in line
    assert "40 questions" in last


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n"])
def test_judgements_between_tabs_are_read_as_such(folder, capsys, header):
    write_judged_run()
    fields = [line.split() for line in Path("judgements.qrels").read_text().splitlines()]
    lines = ["\t".join((q, c, grade) if header else (q, zero, c, grade)) for q, zero, c, grade in fields]
    Path("qrels.tsv").write_text(header + "\n".join(lines) + "\n")
    assert main(["evaluate", "0.run", "judgements.qrels"]) == 0
    expected = capsys.readouterr().out
    assert main(["evaluate", "0.run", "qrels.tsv"]) == 0
    assert capsys.readouterr().out == expected


OFFICIAL = Path(__file__).parents[2] / "shared" / "data" / "wikiqa"  # on machines that have it


@pytest.mark.skipif(not OFFICIAL.exists(), reason="no real sets on this machine")
def test_published_runs_of_wikiqa_have_their_published_values_under_their_judgements(folder, capsys):
    judgements = str(OFFICIAL / "WikiQA-test-filtered.ref")
    assert main(["evaluate", str(OFFICIAL / "emnlp2015_runs" / "WikiQA.CNN-Cnt.test.rank"), judgements]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert values(line).items() >= {"P@1": 52.74, "MAP": 65.91, "MRR": 67.38}.items()
    assert "(237 questions," in line


@pytest.mark.parametrize("runs", [["evaluate", "my.run"], ["compare", "my.run", "my.run"]])
@pytest.mark.parametrize(
    ("judgements", "message"),
    [
        ("1 0 0 1\n2 0 0 0\n", "questions that run and judgements share, got none: they begin with Q0 and 1"),
        ("Q0 0 0 1\nQ1 0 0 0\n", "candidates that run and judgements share, got none: of question Q0, one has D0-"),
    ],
)
def test_ids_that_meet_nothing_are_one_line_and_no_zeros(folder, capsys, runs, judgements, message):
    """WikiQA-test-filtered.ref numbers questions, and candidates in them, where the TSV has Q0 and D0-0."""
    Path("theirs.ref").write_text(judgements)
    wikiqa(folder / "WikiQA-test.tsv")
    assert main(["score", "lexical/word_overlap", "WikiQA-test.tsv", "--trec", "my.run"]) == 0
    capsys.readouterr()
    assert main([*runs, "theirs.ref"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert message in line
