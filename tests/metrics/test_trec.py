"""Facts about `as2lib.metrics.trec`: against trec_eval itself (pytrec_eval), and on values worked by hand."""

import gzip
import math

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from as2lib.metrics.ranking import per_question
from as2lib.metrics.trec import (
    against_ties,
    compare_runs,
    coverage,
    evaluate,
    read_judgements,
    read_run,
    write_run,
)

TREC_EVAL = {"P@1": "P_1", "AP": "map", "RR": "recip_rank", "nDCG@10": "ndcg_cut_10", "R@5": "recall_5"}

questions, candidates = st.sampled_from("pqrs"), st.sampled_from(["a", "b", "c", "d", "e", "f"])
runs = st.dictionaries(st.tuples(questions, candidates), st.sampled_from([-2.0, 0.5, 0.5000001, 3.0, 1e30]), min_size=1)
grades = st.dictionaries(st.tuples(questions, candidates), st.integers(0, 3), min_size=1)


def table(values, column):
    rows = [(question, candidate, value) for (question, candidate), value in values.items()]
    return pd.DataFrame(rows, columns=["question_id", "candidate_id", column])


def nested(values):
    by_question = {}
    for (question, candidate), value in values.items():
        by_question.setdefault(question, {})[candidate] = value
    return by_question


RUN = table({("q", "a"): 3.0, ("q", "b"): 2.0, ("q", "c"): 1.0, ("p", "x"): 1.0, ("p", "y"): 0.5}, "score")
JUDGEMENTS = table({("p", "y"): 1, ("p", "x"): 0, ("q", "b"): 1, ("q", "d"): 1}, "grade")


# --- values ---------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(runs, grades)
def test_values_are_those_of_trec_eval_with_ties_grades_and_whatever_either_file_leaves_out(run, judgements):
    if not {question for question, _ in run} & {question for question, _ in judgements}:
        with pytest.raises(ValueError, match="questions that run and judgements share, got none"):
            evaluate(table(run, "score"), table(judgements, "grade"))
        return
    values = evaluate(table(run, "score"), table(judgements, "grade"), list(TREC_EVAL))
    expected = pytrec_eval.RelevanceEvaluator(nested(judgements), set(TREC_EVAL.values())).evaluate(nested(run))
    assert list(values.index) == list(nested(judgements))
    for question, row in values.iterrows():
        for name, theirs in TREC_EVAL.items():
            assert row[name] == pytest.approx(expected.get(question, {}).get(theirs, 0.0), abs=1e-9)


def test_correct_candidates_that_the_run_left_out_are_not_credited():
    whole = table({("q", "a"): 2.0, ("q", "b"): 1.0}, "score")
    judgements = table({("q", "a"): 0, ("q", "b"): 1}, "grade")
    assert evaluate(whole, judgements)["AP"].item() == 0.5
    top = whole.head(1)
    assert evaluate(top, judgements)["AP"].item() == 0
    assert evaluate(against_ties(top, judgements), judgements)["AP"].item() == 0


@pytest.mark.parametrize("scale", [-1e16, -1e30])
def test_scores_of_any_size_do_not_tie_with_what_is_missing(scale):
    run = table({("q", "b"): scale, ("q", "a"): 2 * scale}, "score")
    judgements = table({("q", "b"): 1, ("q", "c"): 0, ("q", "d"): 0}, "grade")
    for same in (run, against_ties(run, judgements)):
        assert evaluate(same, judgements)["RR"].item() == 1


def test_a_policy_keeps_the_questions_that_it_keeps_everywhere():
    judgements = pd.concat([JUDGEMENTS, table({("r", "a"): 0}, "grade")])
    assert list(evaluate(RUN, judgements).index) == ["p", "q", "r"]
    assert evaluate(RUN, judgements).loc["r"].tolist() == [0] * 4
    assert list(evaluate(RUN, judgements, questions="answered").index) == ["p", "q"]
    assert list(evaluate(RUN, judgements, questions="mixed").index) == ["p"]


# --- ties -----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(st.tuples(questions, st.integers(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=20))
def test_against_ties_a_run_of_all_candidates_has_the_values_of_per_question(rows):
    question, label, score = zip(*rows, strict=True)
    keys = [(name, f"{row}") for row, name in enumerate(question)]
    run, judgements = (
        table(dict(zip(keys, values, strict=True)), column) for values, column in ((score, "score"), (label, "grade"))
    )
    values = evaluate(against_ties(run, judgements), judgements)
    expected = per_question(question, label, score, "all")
    np.testing.assert_allclose(values, expected.loc[values.index], atol=1e-9)


# --- two runs -------------------------------------------------------------------------------------------------------


def test_two_runs_are_compared_question_by_question():
    better = RUN.assign(score=[1.0, 2.0, 0.0, 0.0, 1.0])
    result = compare_runs(better, RUN, JUDGEMENTS, ["AP", "R@2"])
    difference = result.by_question["difference"]["AP"]
    assert difference.to_dict() == {"p": 0.5, "q": 0.25}
    assert list(result.by_question.columns.get_level_values(0).unique()) == ["run1", "run2", "difference"]
    assert result.tests["AP"].difference == pytest.approx(0.375)
    assert (result.tests["AP"].p, result.tests["R@2"].p) == (0.5, 1)


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    def to_file(text, name="file.txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return to_file


def test_a_run_comes_back_as_it_was_written(tmp_path):
    run = table({("q 1", "a b"): 1 / 3, ("q 1", "c"): -math.inf, ("p", "x"): 1e-300, ("q 1", "d"): 0.5}, "score")
    write_run(run, tmp_path / "run", tag="my run")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines[0] == "q%201 Q0 d 1 0.5 my%20run"
    again = read_run(tmp_path / "run")
    assert again["question_id"].tolist() == ["q%201"] * 3 + ["p"]
    assert again["score"].tolist() == [0.5, 1 / 3, -math.inf, 1e-300]


def test_judgements_are_read_as_trec_and_beir_write_them(write, tmp_path):
    expected = [("q", "a", 1), ("q", "b", 0), ("p", "a", 3)]
    trec = "q 0 a 1\nq\t0\tb\t0\n\np 0 a 3\n"
    for text in (
        trec,
        "\ufeff" + trec.replace("\n", "\r\n"),
        "query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\np\ta\t3\n",
        "q a 1\nq b 0\np a 3",
    ):
        assert list(read_judgements(write(text)).itertuples(index=False, name=None)) == expected
    with gzip.open(tmp_path / "qrels.gz", "wt") as file:
        file.write(trec)
    assert list(read_judgements(tmp_path / "qrels.gz").itertuples(index=False, name=None)) == expected


def test_ids_are_texts_whatever_they_come_as():
    run = RUN.assign(candidate_id=range(5), question_id=[1, 1, 1, 2, 2])
    judgements = table({("1", "1"): 1, ("2", "3"): 1}, "grade")
    assert evaluate(run, judgements)["RR"].to_dict() == {"1": 0.5, "2": 1}


def test_coverage_counts_what_does_not_match():
    run = pd.concat([RUN, table({("s", "a"): 1.0}, "score")])
    judgements = pd.concat([JUDGEMENTS, table({("t", "a"): 1}, "grade")])
    assert coverage(run, judgements) == (2, 1, 1, 2, 1)  # q's a and c are unjudged, q's d is left out


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_run, "q Q0 a 1 0.5 t\nq Q0 b 2 0.5\n", "line 2: expected 6 fields .* got 'q Q0 b 2 0.5'"),
        (read_run, "q Q0 a 1 2 t\nq Q0 a 2 1 t\n", "each candidate once, got a of question q again"),
        (read_judgements, "q 0 a 1\nq 0 b yes\n", "line 2: expected 4 fields .*, the grade a whole number"),
        (read_judgements, "query-id corpus-id score\n", "at least one row, got none"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line_that_names_it(read, text, message, write):
    with pytest.raises(ValueError, match=message) as caught:
        read(write(text, "mine.txt"))
    assert "mine.txt" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("run", "judgements", "message"),
    [
        (RUN.drop(columns="score"), JUDGEMENTS, "run: expected columns .*; score is missing"),
        (RUN, JUDGEMENTS.assign(grade=0.5), "judgements: grade: expected a whole number, row 1 has 0.5"),
        (RUN.assign(candidate_id=None), JUDGEMENTS, "run: candidate_id: expected an id, row 1 has None"),
    ],
)
def test_tables_that_are_none_are_refused(run, judgements, message):
    with pytest.raises(ValueError, match=message):
        evaluate(run, judgements)
