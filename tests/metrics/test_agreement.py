import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from as2lib.metrics.agreement import agreement, majority, rank_correlation

# four questions of three candidates, whose correct ones are the first, second, third and first
QUESTIONS = np.repeat(["p", "q", "r", "s"], 3)
LABELS = np.array([1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0])


def choosing(*places):
    """Scores that put the candidate of that place first in each question, and the others below it in order."""
    return np.concatenate([np.eye(3)[place] + [0.2, 0.1, 0.0] for place in places])


SCORE = st.sampled_from([0.0, 0.25, 0.5, 1.0])  # ties included


def test_shared_choices_and_kappas_are_those_worked_by_hand():
    # correct: the head in p, q; the teacher in p, r, s
    head, teacher = choosing(0, 1, 0, 1)[:, None], choosing(0, 0, 2, 0)[:, None]
    more = [np.append(scores, [[0.3], [0.2], [0.9]], 0) for scores in (head, teacher)]  # an unanswered question
    label, question = np.append(LABELS, [0, 0, 0]), np.append(QUESTIONS, ["t"] * 3)
    for result in (agreement(head, teacher, LABELS, QUESTIONS), agreement(*more, label, question)):
        assert result.shared.item() == 1 / 2  # both in p
        assert result.kappa.item() == pytest.approx(cohen_kappa_score([0, 1, 0, 1], [0, 0, 2, 0]))  # of places
        assert result.kappa_correct.item() == pytest.approx(cohen_kappa_score([1, 1, 0, 0], [1, 0, 1, 1]))
    assert agreement(teacher, head, LABELS, QUESTIONS).shared.item() == 1 / 3
    assert len(majority(more[0][:, 0], more[1], label, question)) == 4


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), SCORE, SCORE), min_size=1, max_size=20))
def test_rank_correlation_is_that_of_scipy_in_each_question(rows):
    question, a, b = map(np.array, zip(*sorted(rows), strict=True))
    result = rank_correlation(a, b, question)
    for code in np.unique(question):
        rows = question == code
        constant = np.ptp(a[rows]) == 0 or np.ptp(b[rows]) == 0
        expected = np.nan if constant else stats.spearmanr(a[rows], b[rows]).statistic
        assert result[code] == pytest.approx(expected, nan_ok=True)


def test_the_cases_and_confidences_are_those_worked_by_hand():
    teachers = np.stack([choosing(0, 1, 0, 1), choosing(0, 0, 2, 1), choosing(0, 1, 0, 1)], axis=1)
    result = majority(choosing(0, 1, 2, 1), teachers, LABELS, QUESTIONS)
    assert result[["teachers", "student"]].to_numpy().tolist() == [[3, True], [2, True], [1, True], [0, False]]
    assert result["case"].to_dict() == {"p": "all right", "q": "follows", "r": "overrides", "s": "rest"}
    assert result.loc["r", [f"confidence {j}" for j in range(3)]].tolist() == [1.2, 1.0, 1.2]
