"""The premise of GOVERN's proof, on votes worked by hand, and in the limit of independent teachers."""

import numpy
import pandas
import pytest

from as2lib.papers.govern.premise import condorcet, premise, premises, sentences_premise


def test_a_vote_can_be_right_where_the_mean_is_wrong_and_the_other_way_round():
    # pair 0, label 1: two of three above 1/2, but the mean .4 below.  pair 1, label 0: one far above, two just below.
    # pair 2, label 0: the mean .4 is right, two of three are wrong
    label = [1, 0, 0]
    teachers = [[0.55, 0.49, 0.6], [0.55, 0.49, 0.6], [0.1, 0.9, 0.0]]
    found = premise(label, teachers)
    assert found.vote == (1 + 0.5) / 2  # label 1: right; label 0: pair 1 right, pair 2 wrong
    assert found["mean"] == (0 + 0.5) / 2
    assert found["vote alone"] == (1 + 0.5) / 2
    assert found["mean alone"] == (0 + 0.5) / 2
    assert found.teacher == pytest.approx((2 / 3 + (2 / 3 + 1 / 3) / 2) / 2)
    assert found.drawn == 0


def test_votes_are_seen_from_the_student_and_a_drawn_one_is_decided_by_the_mean():
    found = premise([1, 0], [[0.9, 0.6], [0.4, 0.3]])
    assert found.drawn == 1
    assert found.vote == found["mean"] == 1
    label, teachers = [1, 0], [[0.7, 0.3]]
    assert premise(label, teachers).vote == 1
    assert premise(label, teachers, [0.8, 0.2]).vote == 0


def test_a_constant_teacher_is_right_half_the_time_whatever_the_labels():
    assert premise([0] * 9 + [1], [[0.1] * 10]).teacher == 0.5


def test_independent_teachers_reach_what_condorcet_says_and_copies_gain_nothing():
    generator = numpy.random.default_rng(0)
    label = generator.integers(0, 2, 20_000)
    right = generator.random((5, len(label))) < 0.7
    teachers = numpy.where(right, label, 1 - label) * 0.2 + 0.4
    found = premise(label, teachers)
    assert found.correlation == pytest.approx(0, abs=0.02)
    assert found.vote == pytest.approx(found.condorcet, abs=0.01)
    copies = premise(label, [teachers[0]] * 5)
    assert copies.correlation == pytest.approx(1)
    assert copies.vote == copies.teacher


@pytest.mark.parametrize(
    ("voters", "accuracy", "expected"),
    [(1, 0.7, 0.7), (3, 0.7, 0.343 + 3 * 0.49 * 0.3), (2, 0.7, 0.49 + 0.21), (5, 0.5, 0.5), (3, 1.0, 1.0)],
)
def test_condorcet_by_hand(voters, accuracy, expected):
    assert condorcet(voters, accuracy) == pytest.approx(expected)


def test_every_group_of_three_teachers_is_looked_at_once(voted):
    alike = [voted.find(f"govern/{name}/seed-0").identity for name in ("teacher-1", "fold-1")]
    assert alike[0] == alike[1]
    found = premises(voted.study, ["fold"])
    assert len(found) == 10
    assert found.index[0] == "F1 + F2 + F3"
    together = premises(voted.study, ["teacher", "fold"])
    assert len(together) == 20  # two teachers and four folds that are neither
    assert not together.index.str.contains("F1").any()


def groups(correlation, teacher):
    rows = {"correlation": correlation, "teacher": teacher, "lead": [3.0, 2.0, 1.0] * (len(teacher) // 3)}
    return pandas.DataFrame(rows | dict.fromkeys(("vote", "mean", "condorcet", "vote alone", "mean alone"), 50.0))


def test_the_sentence_of_the_votes_lead_says_its_direction():
    shrinks = sentences_premise(groups([0.1, 0.2, 0.3] * 4, [70, 60, 50] * 4))[-1]
    assert "shrinks as teachers become more alike (rank correlation −1.00)" in shrinks
    assert "grows as they become more accurate (+1.00)" in shrinks
    grows = sentences_premise(groups([0.3, 0.2, 0.1] * 4, [50, 60, 70] * 4))[-1]
    assert "grows as teachers become more alike (rank correlation +1.00)" in grows
    assert "shrinks as they become more accurate (−1.00)" in grows
    hardly = sentences_premise(groups([0.1, 0.2, 0.3, 0.3, 0.2, 0.1] * 2, [50, 60, 70] * 4))[-1]
    assert "hardly changes as teachers become more alike (rank correlation 0.00)" in hardly
    assert len(sentences_premise(groups([0.3, 0.2, 0.1] * 3, [50, 60, 70] * 3))) == 2  # too few for a direction
