"""The premise of GOVERN's proof, on votes worked by hand, and in the limit of independent teachers."""

import numpy
import pandas
import pytest

from as2lib.papers.govern.premise import condorcet, groups, premise


def test_a_vote_can_be_right_where_the_mean_is_wrong_and_the_other_way_round():
    # pair 0, label 1: two of three above 1/2, but the mean .4 below.  pair 1, label 0: one far above, two just below.
    # pair 2, label 0: the mean .4 is right, two of three are wrong
    label = [1, 0, 0]
    teachers = [[0.55, 0.49, 0.6], [0.55, 0.49, 0.6], [0.1, 0.9, 0.0]]
    shares = premise(label, teachers)
    assert shares.vote == (1 + 0.5) / 2  # label 1: right; label 0: pair 1 right, pair 2 wrong
    assert shares["mean"] == (0 + 0.5) / 2
    assert shares["vote alone"] == (1 + 0.5) / 2
    assert shares["mean alone"] == (0 + 0.5) / 2
    assert shares.teacher == pytest.approx((2 / 3 + (2 / 3 + 1 / 3) / 2) / 2)
    assert shares.drawn == 0


def test_votes_are_seen_from_the_student_and_a_drawn_one_is_decided_by_the_mean():
    shares = premise([1, 0], [[0.9, 0.6], [0.4, 0.3]])
    assert shares.drawn == 1
    assert shares.vote == shares["mean"] == 1
    label, teachers = [1, 0], [[0.7, 0.3]]
    assert premise(label, teachers).vote == 1
    assert premise(label, teachers, [0.8, 0.2]).vote == 0


def test_independent_teachers_reach_what_condorcet_says_and_copies_gain_nothing():
    generator = numpy.random.default_rng(0)
    label = generator.integers(0, 2, 20_000)
    right = generator.random((5, len(label))) < 0.7
    teachers = numpy.where(right, label, 1 - label) * 0.2 + 0.4
    shares = premise(label, teachers)
    assert shares.correlation == pytest.approx(0, abs=0.02)
    assert shares.vote == pytest.approx(shares.condorcet, abs=0.01)
    copies = premise(label, [teachers[0]] * 5)
    assert copies.correlation == pytest.approx(1)
    assert copies.vote == copies.teacher


@pytest.mark.parametrize(
    ("voters", "accuracy", "expected"),
    [(1, 0.7, 0.7), (3, 0.7, 0.343 + 3 * 0.49 * 0.3), (2, 0.7, 0.49 + 0.21)],
)
def test_condorcet_by_hand(voters, accuracy, expected):
    assert condorcet(voters, accuracy) == pytest.approx(expected)


def test_every_three_teachers_make_one_group_and_the_lead_is_that_of_the_vote():
    generator = numpy.random.default_rng(1)
    label = generator.integers(0, 2, 50)
    teachers = {f"T{i}": pandas.DataFrame({"label": label, "score": generator.random(50)}) for i in range(1, 5)}
    table = groups(teachers)
    assert table.index.tolist() == ["T1 + T2 + T3", "T1 + T2 + T4", "T1 + T3 + T4", "T2 + T3 + T4"]
    numpy.testing.assert_allclose(table["lead"], table["vote"] - table["mean"])
    assert len(groups(dict(list(teachers.items())[:2]))) == 1
