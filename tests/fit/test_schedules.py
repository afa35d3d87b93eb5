import numpy
import pytest

from as2lib.fit.schedules import drawn_exit, rate


def test_the_rate_rises_from_nothing_and_falls_to_nothing_or_to_one_over_its_ratio():
    assert [rate(step, 100, 0.1) for step in (0, 5, 10, 55, 100)] == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert [rate(step, 4, 0) for step in range(4)] == [1, 0.75, 0.5, 0.25]
    # Howard and Ruder 2018, equation 3: p is 0, 1/2, 1, 1/2, 0
    slanted = [rate(step, 200, 0.1, 32) for step in (0, 10, 20, 110, 200)]
    assert slanted == pytest.approx([(1 + p * 31) / 32 for p in (0, 0.5, 1, 0.5, 0)])


def test_the_exit_of_a_step_depends_on_seed_and_step_alone():
    drawn = [drawn_exit("uniform", 5, step, 2000, 3) for step in range(2000)]
    assert drawn[700] == drawn_exit("uniform", 5, 700, 9999, 3)
    assert drawn != [drawn_exit("uniform", 5, step, 2000, 4) for step in range(2000)]
    assert numpy.bincount(drawn, minlength=5).min() > 340  # each about 400 times


def test_exits_in_turn_and_early_exits_first():
    assert [drawn_exit("round_robin", 3, step, 10, 0) for step in range(5)] == [0, 1, 2, 0, 1]
    early = numpy.array([drawn_exit("early", 3, step, 4000, 0) for step in range(4000)])
    first, later = (numpy.bincount(part, minlength=3) / len(part) for part in (early[:1200], early[1200:]))
    numpy.testing.assert_allclose(first, [4 / 7, 2 / 7, 1 / 7], atol=0.05)
    numpy.testing.assert_allclose(later, [1 / 3] * 3, atol=0.05)
