import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
from datasets import Dataset
from hypothesis import example, given, settings
from hypothesis import strategies as st

from as2lib.metrics.ranking import per_question, summary, top

MEASURES = "P@1 AP RR nDCG@10 R@20 RR@10 Success@5 AP@10".split()

# a few questions of up to dozens of candidates, few distinct scores: ties everywhere
SCORE = st.sampled_from([-math.inf, 0.0, 0.25, math.inf])
rankings = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1), SCORE), min_size=1, max_size=60)


def measure_by_ir_measures(question_id, label, score):
    document = [str(row) for row in range(len(label))]
    judged = pd.DataFrame({"query_id": question_id, "doc_id": document, "relevance": label})
    scored = pd.DataFrame({"query_id": question_id, "doc_id": document, "score": score})
    values = pd.DataFrame(ir_measures.iter_calc(map(ir_measures.parse_measure, MEASURES), judged, scored))
    return values.assign(measure=values["measure"].map(str)).pivot_table("value", "query_id", "measure")


def test_a_perfect_ranking_measures_exactly_one():
    for correct in range(1, 16):
        label = [1] * correct + [0] * 3
        assert (per_question(["q"] * len(label), label, -np.arange(len(label))) == 1).all(axis=None)


def test_means_go_by_their_names_and_two_names_of_one_measure_agree():
    means = summary(list("aab"), [1, 0, 1], [1, 2, 3], measures=["R@1", "AP", "RR", "MAP@1000", "AP@1000"])
    assert means == {"R@1": 0.5, "MAP": 0.75, "MRR": 0.75, "MAP@1000": 0.75, "AP@1000": 0.75, "questions": 2}


@settings(max_examples=40)
@given(rankings, st.sampled_from(["answered", "mixed", "all"]))
@example([("a", 1, 0.0), ("b", 1, 0.0), *[("c", 0, 0.25)] * 2, ("c", 1, 0.0)], "all")  # 1 + 1 + 1/3 and 1/3 + 1 + 1
def test_tied_scores_are_measured_as_if_the_incorrect_ones_stood_first_wherever_rows_stand(ranking, questions):
    question_id, label, score = zip(*ranking, strict=True)
    table = per_question(question_id, label, score, questions, MEASURES)
    correct = pd.Series(label).groupby(list(question_id), sort=False).mean()
    kept = {"answered": correct > 0, "mixed": (correct > 0) & (correct < 1), "all": correct >= 0}[questions]
    assert list(table.index) == list(correct.index[kept])
    by_name, in_order, _ = zip(*sorted(ranking, key=lambda row: (-row[2], row[1])), strict=True)
    expected = measure_by_ir_measures(by_name, in_order, -np.arange(len(label)))
    np.testing.assert_allclose(table, expected.loc[table.index, table.columns], atol=1e-12)
    if len(table):  # the mean is the same to the last bit
        assert summary(*zip(*ranking[::-1], strict=True), questions) == summary(question_id, label, score, questions)


def test_the_first_incorrect_one_of_the_leaders_is_the_top():
    rows = top(list("babbaa"), [1, 1, 0, 0, 1, 0], [5, 2, 5, 5, 2, 1])
    assert rows.to_dict() == {"b": 2, "a": 1}
    assert list(rows.index) == ["b", "a"]


@pytest.mark.parametrize(
    "arguments",
    [
        (["q"], [3], [0.5]),
        (["q", "q"], [0, 1], [0.5, math.nan]),
        ([None, "q"], [0, 1], [1, 1]),
        (["q"], [1], [1], "clean"),
        (["q"], [1], [1.0], "all", ["foo"]),
    ],
)
def test_wrong_input_is_refused_in_one_line(arguments):
    with pytest.raises(ValueError, match=r"^[^\n]*$"):
        summary(*arguments)


def test_any_kind_of_sequence_gives_the_same_table():
    score = pd.Series([1, 2, 3, 4], index=[3, 2, 1, 0])  # rows go by their place alone
    for kind in (list, np.array, pd.Series, lambda values: Dataset.from_dict({"q": values})["q"]):
        table = per_question(kind(["b", "a", "b", "a"]), kind([0, 1, 1, 0]), score)
        assert table["RR"].to_dict() == {"b": 1, "a": 0.5}
