"""Facts about `as2lib.metrics.significance`, against scipy and statsmodels, and values worked by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from as2lib.metrics.significance import compare, holm, interval_over_seeds

paired = st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.25, 0.5, 1.0])] * 2), min_size=2, max_size=8)


@pytest.fixture
def systems():
    generator = np.random.default_rng(0)
    b = generator.random(200).round(2)
    return np.clip(b + generator.normal(0.03, 0.1, 200), 0, 1).round(2), b


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_statistics_equal_those_of_scipy(systems):
    a, b = systems
    found = compare(a, b)
    wilcoxon = stats.wilcoxon(np.round(a - b, 12), zero_method="pratt")
    spearman = stats.spearmanr(a, b)
    assert (found.wilcoxon, found.wilcoxon_p) == (wilcoxon.statistic, wilcoxon.pvalue)
    assert (found.spearman, found.spearman_p) == pytest.approx((spearman.statistic, spearman.pvalue))
    assert (found.n, found.mean_a, found.mean_b) == pytest.approx((200, a.mean(), b.mean()))
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert (found.wins, found.losses, found.ties) == ((a > b).sum(), (a < b).sum(), (a == b).sum())


def test_equivalence_is_the_larger_of_two_one_sided_t_tests(systems):
    a, b = systems
    above = stats.ttest_1samp(a - b, -0.05, alternative="greater").pvalue
    below = stats.ttest_1samp(a - b, 0.05, alternative="less").pvalue
    assert compare(a, b, margin=0.05).equivalence_p == pytest.approx(max(above, below))


def test_interval_is_close_to_the_normal_one(systems):
    a, b = systems
    found, error = compare(a, b, resamples=20000), stats.sem(a - b)
    expected = found.difference + 1.96 * error * np.array([-1, 1])
    np.testing.assert_allclose([found.low, found.high], expected, atol=0.1 * error)


def test_hand_worked_values_with_a_zero_difference():
    # differences 0, .1, -.2, .3, .4: Pratt's ranks 1..5 of which 1 is dropped; R+ = 2 + 4 + 5, R- = 3
    found = compare([0.5, 0.6, 0.3, 0.8, 0.9], [0.5] * 5)
    assert found.wilcoxon == 3
    assert found.effect == pytest.approx((11 - 3) / (11 + 3))
    assert (found.wins, found.losses, found.ties) == (3, 1, 1)
    assert found.difference == pytest.approx(0.12)


def test_equal_systems_are_equivalent_and_not_different():
    found = compare([0.1, 0.5, 1.0], [0.1, 0.5, 1.0])
    assert (found.wilcoxon_p, found.effect, found.difference, found.low, found.high) == (1, 0, 0, 0, 0)
    assert found.equivalence_p == 0
    assert found.spearman == pytest.approx(1)
    assert (found.wins, found.losses, found.ties) == (0, 0, 3)


def test_a_constant_difference_is_its_own_interval_and_a_constant_system_has_no_rank_correlation():
    b = np.array([0.1, 0.3, 0.7, 0.2])
    found = compare(b + 0.1, b)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert (found.effect, found.equivalence_p) == (1, 1)
    assert compare(b + 0.01, b).equivalence_p == 0
    found = compare([0.1, 0.5, 0.9], [1.0, 1.0, 1.0])
    assert np.isnan([found.spearman, found.spearman_p]).all()


def test_rounding_errors_of_a_mean_over_seeds_are_ties():
    a = np.mean([[0.1, 0.7, 0.3], [0.2, 0.1, 0.3], [0.3, 0.7, 0.3]], axis=0)
    b = np.mean([[0.3, 0.7, 0.3], [0.2, 0.7, 0.3], [0.1, 0.1, 0.3]], axis=0)
    assert (a != b).any()
    assert compare(a, b).ties == 3


@settings(max_examples=30, deadline=None)
@given(paired)
def test_swapping_the_systems_mirrors_the_comparison(pairs):
    a, b = np.transpose(pairs)
    there, back = compare(a, b, resamples=20), compare(b, a, resamples=20)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    for name in ("difference", "effect"):
        assert getattr(there, name) == pytest.approx(-getattr(back, name), abs=1e-12)
    for name in ("wilcoxon_p", "equivalence_p"):
        assert getattr(there, name) == pytest.approx(getattr(back, name))
    assert -1 <= there.effect <= 1
    assert there.low <= there.high


def test_series_are_paired_by_index_and_the_same_seed_gives_the_same_interval(systems):
    a, b = (pd.Series(values, index=[f"q{i}" for i in range(len(values))]) for values in systems)
    assert compare(a, b.iloc[::-1]) == compare(a, b) == compare(*systems)
    assert compare(*systems) == compare(*systems)
    assert compare(*systems).low != compare(*systems, seed=1).low


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 2], [1, 2, 3], r"got \(2,\) and \(3,\)"),
        ([[1, 2]], [[1, 2]], r"got \(1, 2\) and \(1, 2\)"),
        ([1], [1], r"2 or more; got \(1,\)"),
        ([1, np.nan], [1, 2], "a must be finite; value 1 is nan"),
        (pd.Series([1, 2], ["p", "q"]), pd.Series([1, 2], ["p", "r"]), "2 are in only one, such as 'q'"),
        (pd.Series([1, 2], ["p", "p"]), pd.Series([1, 2], ["p", "r"]), "the index of a .* repeats 'p'"),
    ],
)
def test_systems_that_cannot_be_paired_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        compare(a, b)


@pytest.mark.parametrize("wrong", [{"margin": 0}, {"confidence": 1}, {"resamples": 0}])
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(
        ValueError, match=f"expected margin > 0.*got .*{next(iter(wrong))} {next(iter(wrong.values()))}"
    ):
        compare([0, 1], [1, 0], **wrong)


def test_with_one_seed_the_interval_is_the_one_over_questions(systems):
    a, b = systems
    found, error = compare(a, b, resamples=20000), stats.sem(a - b)
    over_seeds = interval_over_seeds(a[:, None], b[:, None], resamples=20000)
    np.testing.assert_allclose(over_seeds, (found.low, found.high), atol=0.1 * error)


def test_seeds_that_agree_add_nothing_and_seeds_that_differ_widen_the_interval(systems):
    a, b = systems
    same = interval_over_seeds(np.stack([a] * 3, axis=1), b[:, None], resamples=20000)
    np.testing.assert_allclose(same, interval_over_seeds(a[:, None], b[:, None], resamples=20000), atol=1e-3)
    low, high = interval_over_seeds(np.stack([a - 0.1, a, a + 0.1], axis=1), b[:, None], resamples=20000)
    assert high - low > 2 * (same[1] - same[0])


def test_seeds_alone_give_the_distribution_of_their_resampled_mean_drawn_for_both_systems_together():
    # two seeds whose difference is 0 and 1 in every question: their mean is 0, 1/2 and 1 with chances 1/4, 1/2, 1/4
    a, b = np.tile([0.0, 1.0], (5, 1)), np.zeros((5, 1))
    assert interval_over_seeds(a, b, confidence=0.95) == (0, 1)
    assert interval_over_seeds(a, b, confidence=0.4) == (0.5, 0.5)
    a = np.tile([0.0, 1.0], (5, 1))
    assert interval_over_seeds(a, a) == (0, 0)


def test_the_interval_over_seeds_covers_the_true_difference_about_as_often_as_it_says():
    generator, covered = np.random.default_rng(2), 0
    for seed in range(200):
        effects = generator.normal(0.1, 0.3, (1, 12)) + generator.normal(0, 1, (60, 1))
        low, high = interval_over_seeds(effects, np.zeros((60, 1)), resamples=500, confidence=0.8, seed=seed)
        covered += low <= 0.1 <= high
    assert 0.72 <= covered / 200 <= 0.88


def test_frames_are_paired_by_index_and_the_same_seed_gives_the_same_interval(systems):
    a, b = (pd.DataFrame({"seed": values}, index=[f"q{i}" for i in range(len(values))]) for values in systems)
    assert interval_over_seeds(a, b.iloc[::-1]) == interval_over_seeds(a, b) == interval_over_seeds(a, b)
    assert interval_over_seeds(a, b) != interval_over_seeds(a, b, seed=1)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.zeros((3, 2)), np.zeros((3, 3)), r"got \(3, 2\) and \(3, 3\)"),
        (np.zeros(3), np.zeros(3), r"got \(3,\) and \(3,\)"),
        (np.zeros((1, 2)), np.zeros((1, 2)), "q >= 2"),
        (np.full((3, 2), np.nan), np.zeros((3, 2)), "must be finite"),
        (pd.DataFrame([1, 2]), pd.DataFrame([1, 2], index=[1, 2]), "2 are in only one"),
    ],
)
def test_seeds_that_cannot_be_paired_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        interval_over_seeds(a, b)


def test_holm_adjusts_in_the_order_given_and_does_not_count_what_was_not_tested():
    # sorted .01 .02 .04 times 3, 2, 1, then never smaller than the one before
    np.testing.assert_allclose(holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])
    np.testing.assert_allclose(holm([0.04, np.nan, 0.01]), [0.04, np.nan, 0.02])
    assert np.isnan(holm([np.nan])).all()
    assert len(holm([])) == 0


@pytest.mark.parametrize("wrong", [[0.5, 1.2], [-0.1]])
def test_holm_refuses_what_is_no_probability(wrong):
    with pytest.raises(ValueError, match=r"p_values must lie in \[0, 1\]"):
        holm(wrong)
