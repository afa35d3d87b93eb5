import numpy
import pytest

from tests.papers.conftest import run_notebook


@pytest.fixture
def page(invented, sections):
    return run_notebook("10_govern", sections)


def test_the_premise_of_governs_proof_is_that_worked_by_hand(page):
    premise = page["premise"]
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
    # votes are seen from the student, and a drawn one is decided by the mean
    shares = premise([1, 0], [[0.9, 0.6], [0.4, 0.3]])
    assert shares.drawn == 1
    assert shares.vote == shares["mean"] == 1
    label, teachers = [1, 0], [[0.7, 0.3]]
    assert premise(label, teachers).vote == 1
    assert premise(label, teachers, [0.8, 0.2]).vote == 0


def test_independent_teachers_reach_what_condorcet_says_and_copies_gain_nothing(page):
    premise, condorcet = page["premise"], page["condorcet"]
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
