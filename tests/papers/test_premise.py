import numpy
import pytest

from as2lib.papers.govern.premise import condorcet, premise


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
    assert condorcet(1, 0.7) == pytest.approx(0.7)
    assert condorcet(3, 0.7) == pytest.approx(0.343 + 3 * 0.49 * 0.3)
    assert condorcet(2, 0.7) == pytest.approx(0.49 + 0.21)  # a draw counts one half
    generator = numpy.random.default_rng(0)
    label = generator.integers(0, 2, 20_000)
    right = generator.random((5, len(label))) < 0.7
    teachers = numpy.where(right, label, 1 - label) * 0.2 + 0.4
    shares = premise(label, teachers)
    assert shares.correlation == pytest.approx(0, abs=0.02)
    assert shares.vote == pytest.approx(shares.condorcet, abs=0.01)
    copies = premise(label, [teachers[0]] * 5)
    assert (copies.correlation, copies.vote) == (pytest.approx(1), copies.teacher)
