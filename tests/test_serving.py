import io

import ir_measures
import numpy
import pandas
import pytest

from as2lib import serving
from as2lib.__main__ import main
from as2lib.data.trec import judged, read_judgements, read_run
from as2lib.metrics.ranking import summary
from as2lib.ranker import Ranker


@pytest.fixture
def folder(trained):
    return str(trained.study.run("mhs/3h1/seed-0").model_folder)


def test_a_file_is_ranked_in_pieces_to_csv_and_to_a_run_that_evaluates_as_the_study_does(
    folder, trained, trained_root, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(serving, "CHUNK", 7)  # pieces that end within and at a question
    pairs, run, table = str(trained_root / "test.tsv"), tmp_path / "o.run", tmp_path / "o.csv"
    assert main(["rank", folder, pairs, "--out", str(run)]) == 0
    said = capsys.readouterr().err
    assert "ranked 72 pairs of 18 questions in float32" in said
    assert "pairs a second" in said
    assert main(["rank", folder, pairs, "--out", str(table), "--top", "2"]) == 0
    assert main(["rank", folder, pairs]) == 0
    out = capsys.readouterr().out
    whole, two = pandas.read_csv(io.StringIO(out)), pandas.read_csv(table)
    assert whole.columns.tolist() == ["question_id", "rank", "position", "score", "answer"]
    pandas.testing.assert_frame_equal(whole[whole["rank"] <= 2].reset_index(drop=True), two)
    stored = trained.study.run("mhs/3h1/seed-0").scores("test")
    found = whole.sort_values(["question_id", "position"])["score"].to_numpy()
    expected = stored.sort_values(["question_id", "position"])["score"].to_numpy()
    numpy.testing.assert_allclose(found, expected, atol=1e-6)

    assert main(["evaluate", str(run), pairs]) == 0
    measured = summary(stored["question_id"], stored["label"], stored["score"])
    assert f"MAP {100 * measured['MAP']:.2f}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ensemble/teachers/seed-0", "lexical/word_overlap", "teacher/albert/seed-0"])
def test_any_run_of_a_study_ranks_by_its_name_as_it_scored(name, trained, trained_root, tmp_path, capsys):
    assert main(["rank", name, str(trained_root / "test.tsv"), "--study", "tiny"]) == 0
    found = pandas.read_csv(io.StringIO(capsys.readouterr().out)).sort_values(["question_id", "position"])
    stored = trained.study.run(name).scores("test").sort_values(["question_id", "position"])
    numpy.testing.assert_allclose(found["score"], stored["score"], atol=1e-6)


def test_a_run_of_another_tool_has_trec_evals_metrics(tmp_path, capsys):
    generator = numpy.random.default_rng(0)
    grades = {f"q{i}": generator.integers(-1, 3, 12) for i in range(20)}
    rows = [(q, f"d{i}", grade) for q, own in grades.items() for i, grade in enumerate(own)]
    (tmp_path / "a.run").write_text("".join(f"{q} Q0 {d} 1 {generator.random():.6f} tool\n" for q, d, _ in rows))
    (tmp_path / "a.qrels").write_text("".join(f"{q}\t0\t{d}\t{grade}\n" for q, d, grade in rows))
    beir = "".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in rows)
    (tmp_path / "beir.tsv").write_text(f"query-id\tcorpus-id\tscore\n{beir}")
    qrels, run = [ir_measures.Qrel(q, d, int(grade > 0)) for q, d, grade in rows], str(tmp_path / "a.run")
    expected = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.RR], qrels, ir_measures.read_trec_run(run))
    for judgements in ("a.qrels", "beir.tsv"):
        assert main(["evaluate", str(tmp_path / "a.run"), str(tmp_path / judgements)]) == 0
        said = capsys.readouterr()
        assert f"MAP {100 * expected[ir_measures.AP]:.2f}   MRR {100 * expected[ir_measures.RR]:.2f}" in said.out
        assert said.err == ""


def test_what_a_run_leaves_out_or_nobody_judged_counts_against_it_and_is_said(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 1 0.9 t\n1 Q0 x 2 0.8 t\n3 Q0 a 1 1 t\n")
    (tmp_path / "a.qrels").write_text("1 0 a 0\n1 0 b 1\n2 0 a 1\n2 0 b 0\n")
    table, said = judged(read_run(tmp_path / "a.run"), read_judgements(tmp_path / "a.qrels"))
    assert summary(table["question_id"], table["label"], table["score"])["MAP"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert [line.split()[0] for line in said] == ["1", "1", "1", "3"]


@pytest.mark.parametrize(
    ("run", "judgements", "said"),
    [
        ("1 Q0 a 1 nan t\n", "1 0 a 1\n", "a.run, line 1: score must be a finite number, got 'nan'"),
        ("1 Q0 a 1 0.5\n", "1 0 a 1\n", "a.run, line 1: expected 6 fields (question_id Q0 candidate rank score tag)"),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "1 0 a 1\n", "a.run: expected each candidate once, got a of 1 again"),
        ("1 Q0 a 1 2 t\n", "1 0 a 1\n1 0 c yes\n", "a.qrels, line 2: grade must be a number, got 'yes'"),
        ("1 Q0 a 1 2 t\n", "2 0 a 1\n", "expected questions that both files have, got none"),
        ("", "2 0 a 1\n", "a.run: expected at least one line, got an empty file"),
    ],
)
def test_a_broken_run_or_judgement_is_one_line(run, judgements, said, tmp_path, capsys):
    (tmp_path / "a.run").write_text(run)
    (tmp_path / "a.qrels").write_text(judgements)
    assert main(["evaluate", str(tmp_path / "a.run"), str(tmp_path / "a.qrels")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_ranking_a_file_holds_one_piece_of_it_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "CHUNK", 50)
    path, seen = tmp_path / "large.jsonl", []
    with path.open("w") as file:
        for i in range(3000):
            file.write(f'{{"question_id": {i // 10}, "question": "q{i // 10} ?", "answer": "a{i}"}}\n')
    monkeypatch.setattr(Ranker, "rank", lambda self, q, lists, top: [seen.append(len(c)) or [] for c in lists])
    assert main(["rank", "word_overlap", str(path), "--out", str(tmp_path / "o.csv")]) == 0
    assert seen == [10] * 300
