import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from as2lib.metrics.threshold import gsb, pair_pr_auc, pair_recall_at_precision, resampled
from as2lib.metrics.threshold import question_recall_at_precision as question_recall

ROW = st.tuples(st.integers(0, 5), st.integers(0, 1), st.sampled_from([0.1, 0.3, 0.5, 0.9, 1.0]))
ROWS = st.lists(ROW, min_size=1, max_size=24)


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def naive_question_recall(rows, precision):
    table = pandas.DataFrame(rows, columns=["question", "label", "score"])
    table = table.sort_values(["score", "label"], ascending=[False, True])  # among equal scores the wrong one first
    first, answered = table.groupby("question").first(), table.groupby("question")["label"].max()
    recalls = [0.0]
    for threshold in first["score"]:
        above = first["score"] >= threshold
        right = first["label"][above].sum()
        if right and right / above.sum() >= precision:
            recalls.append(right / (right + answered[~above].sum()))
    return max(recalls)


def test_a_precision_is_reached_when_it_is_met_exactly_and_a_threshold_takes_all_equal_scores_or_none():
    assert pair_recall_at_precision([0, 1], [0.9, 0.8]) == 0
    assert pair_recall_at_precision([1] * 9 + [0], [0.5] * 10, precision=0.9) == 1
    assert pair_recall_at_precision([1] * 8 + [0], [0.5] * 9, precision=0.9) == 0
    # taking only the right one of the two at .5 would reach precision 1 at recall 1
    assert pair_recall_at_precision([1, 1, 0], [0.9, 0.5, 0.5]) == 0.5


def test_measures_of_resampled_questions_are_those_of_the_questions_drawn():
    question, label, score = list("aabbcc"), [1, 0, 0, 1, 1, 0], [5, 1, 4, 3, 3, 2]
    drawn = [("a", 1, 5), ("a", 0, 1), ("x", 1, 5), ("x", 0, 1), ("c", 1, 3), ("c", 0, 2)]  # a twice, b never
    counts = numpy.array([[1, 1, 1], [2, 0, 1]])
    for measure, whole in (("qp R@P", pair_recall_at_precision), ("qp prAUC", pair_pr_auc)):
        values = resampled(question, label, score, counts, measure)
        assert values == pytest.approx([whole(label, score), whole(*columns(drawn)[1:])])
    assert resampled(question, label, score, counts, "q R@P")[1] == pytest.approx(question_recall(*columns(drawn)))


@given(ROWS, st.sampled_from([0.5, 0.75, 0.9, 1.0]))
def test_question_recall_equals_a_naive_loop(rows, precision):
    recall = question_recall(*columns(rows), precision=precision)
    assert recall == pytest.approx(naive_question_recall(rows, precision))


def test_pr_auc_is_average_precision_and_a_constant_scorer_gets_the_share_of_correct_pairs():
    label, score = [0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8]
    assert pair_pr_auc(label, score) == average_precision_score(label, score) == pytest.approx(0.5 * 0.5 + 0.5 * 2 / 3)
    assert pair_pr_auc(label, [0.5] * 4) == 0.5


def test_the_published_27_364_9_is_a_gain_of_four_and_a_half_percent():
    counts = gsb([0] * 27 + [1] * 9 + [0] * 364, [1] * 27 + [0] * 9 + [0] * 364)
    assert counts[:3] == (27, 364, 9)
    assert counts.gain == pytest.approx(0.045)
    assert counts.p == pytest.approx(0.003933, abs=1e-6)  # 2 * P(X <= 9), X ~ B(36, 1/2)
    for wrong in (lambda: gsb([], []), lambda: gsb([[0, 0]], [[1, 1]]), lambda: pair_recall_at_precision([1], [1], 90)):
        with pytest.raises(ValueError, match="expected"):
            wrong()
