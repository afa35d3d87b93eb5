"""Facts about `as2lib.metrics.significance`, against scipy, all signs one by one, and values worked by hand."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from as2lib.metrics.significance import compare, holm, pooled, questions_to_decide, verdict

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


def differing(wins, losses, n):
    """Systems that differ by one whole point on so many of n questions."""
    a = np.repeat([1.0, 0.0, 0.5], [wins, losses, n - wins - losses])
    return a, np.where(a == 0.5, a, 1 - a)


def permutation_p(gap):
    """Every sign of every difference, one by one."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(gap))))
    return np.mean(np.abs(signs @ gap) >= abs(gap.sum()) - 1e-9)


# --- the permutation test -------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(paired)
def test_the_permutation_test_is_the_share_of_all_signs(pairs):
    a, b = np.transpose(pairs)
    assert compare(a, b, resamples=1).p == pytest.approx(permutation_p(np.round(a - b, 12)))


def test_differences_of_one_size_give_the_sign_test_exactly_however_many_they_are():
    for wins, losses in ((5, 0), (8, 1), (70, 40), (400, 430)):
        expected = stats.binomtest(wins, wins + losses).pvalue
        assert compare(*differing(wins, losses, 1000), resamples=1).p == pytest.approx(expected)


def test_many_differences_are_signed_at_random_and_the_same_seed_gives_the_same_p():
    gap = np.random.default_rng(3).normal(0.15, 1, 203)
    p = compare(gap, np.zeros(203)).p
    expected = 2 * stats.norm.sf(abs(gap.sum()) / np.sqrt((gap**2).sum()))
    assert p == pytest.approx(expected, abs=0.01)
    assert compare(gap, np.zeros(203)).p == p
    assert compare(gap, np.zeros(203), seed=1).p != p
    assert compare(10 + gap, np.zeros(203), resamples=99).p == 1 / 100


# --- the signed-rank test, the interval, the rest -------------------------------------------------------------------


@pytest.mark.parametrize(("wins", "losses", "n", "p"), [(5, 0, 100, 2 / 2**5), (8, 1, 243, 20 / 2**9)])
def test_the_signed_rank_test_is_exact_where_few_questions_differ(wins, losses, n, p):
    assert compare(*differing(wins, losses, n)).wilcoxon_p == p


@settings(max_examples=40, deadline=None)
@given(paired)
def test_the_signed_rank_test_is_the_permutation_of_pratts_ranks(pairs):
    a, b = np.transpose(pairs)
    gap = np.round(a - b, 12)
    signed = stats.rankdata(np.abs(gap)) * np.sign(gap)
    assert compare(a, b, resamples=1).wilcoxon_p == pytest.approx(permutation_p(signed))


def test_without_zeros_and_ties_the_signed_rank_test_is_scipys_exact_one():
    gap = np.random.default_rng(6).normal(0.2, 1, 45)
    expected = stats.wilcoxon(gap, method="exact")
    result = compare(gap, np.zeros(45))
    assert (result.wilcoxon, result.wilcoxon_p) == (expected.statistic, pytest.approx(expected.pvalue))


def test_statistics_equal_those_of_scipy(systems):
    a, b = systems
    result = compare(a, b)
    wilcoxon = stats.wilcoxon(np.round(a - b, 12), zero_method="pratt", method="asymptotic")
    spearman = stats.spearmanr(a, b)
    assert (result.wilcoxon, result.wilcoxon_p) == (wilcoxon.statistic, wilcoxon.pvalue)
    assert (result.spearman, result.spearman_p) == pytest.approx((spearman.statistic, spearman.pvalue))
    assert (result.n, result.mean_a, result.mean_b) == pytest.approx((200, a.mean(), b.mean()))
    assert result.difference == pytest.approx(a.mean() - b.mean())
    assert (result.wins, result.losses, result.ties) == ((a > b).sum(), (a < b).sum(), (a == b).sum())


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_interval_is_close_to_the_normal_one(systems, confidence):
    a, b = systems
    result, error = compare(a, b, resamples=20000, confidence=confidence), stats.sem(a - b)
    expected = stats.norm.interval(confidence, result.difference, error)
    np.testing.assert_allclose([result.low, result.high], expected, atol=0.1 * error)


def test_hand_worked_values_with_a_zero_difference():
    # differences 0, .1, -.2, .3, .4: Pratt's ranks 1..5 of which 1 is dropped; R+ = 2 + 4 + 5, R- = 3
    result = compare([0.5, 0.6, 0.3, 0.8, 0.9], [0.5] * 5)
    assert result.wilcoxon == 3
    assert result.effect == pytest.approx((11 - 3) / (11 + 3))
    assert (result.wins, result.losses, result.ties) == (3, 1, 1)
    assert result.difference == pytest.approx(0.12)
    # of the 16 sums of ±.1 ±.2 ±.3 ±.4, those that reach .6 either way: all of one sign, all but .1, all but .2
    assert result.p == 6 / 16


def test_equal_systems_are_not_different():
    result = compare([0.1, 0.5, 1.0], [0.1, 0.5, 1.0])
    assert (result.p, result.wilcoxon_p, result.effect) == (1, 1, 0)
    assert (result.difference, result.low, result.high) == (0, 0, 0)


def test_a_constant_difference_is_its_own_interval_and_a_constant_system_has_no_rank_correlation():
    b = np.array([0.1, 0.3, 0.7, 0.2])
    result = compare(b + 0.1, b)
    assert (result.low, result.high, result.effect) == (0.1, 0.1, 1)
    result = compare([0.1, 0.5, 0.9], [1.0, 1.0, 1.0])
    assert np.isnan([result.spearman, result.spearman_p]).all()


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
    assert (there.p, there.wilcoxon_p) == (back.p, back.wilcoxon_p)
    for name in ("difference", "effect"):
        assert getattr(there, name) == pytest.approx(-getattr(back, name), abs=1e-12)
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
        ([1, np.nan], [1, 2], "a must be finite; value 1 is nan"),
        (pd.Series([1, 2], ["p", "q"]), pd.Series([1, 2], ["p", "r"]), "2 are in only one, such as 'q'"),
        (pd.Series([1, 2], ["p", "p"]), pd.Series([1, 2], ["p", "r"]), "the index of a .* repeats 'p'"),
    ],
)
def test_systems_that_cannot_be_paired_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        compare(a, b)


def test_a_confidence_out_of_range_is_refused():
    with pytest.raises(ValueError, match="expected 0 < confidence < 1"):
        compare([0, 1], [1, 0], confidence=1)


# --- seeds, several targets, many tests -----------------------------------------------------------------------------


def test_of_several_seeds_each_questions_mean_is_compared_and_their_numbers_may_differ(systems):
    a, b = systems
    seeds = np.stack([a - 0.1, a, a + 0.1], axis=1)
    assert compare(seeds, b[:, None]) == compare(a, b) == compare(seeds, b)
    frame = pd.DataFrame(seeds, index=[f"q{i}" for i in range(len(a))])
    assert compare(frame, pd.Series(b, index=frame.index).to_frame().iloc[::-1]) == compare(a, b)


def test_targets_count_by_their_questions_and_their_levels_do_not_matter():
    generator = np.random.default_rng(7)
    gaps = [generator.normal(0.1, 0.2, n) for n in (30, 300)]
    levels = [np.full(30, 0.1), np.full(300, 0.9)]
    result = pooled([(level + gap, level) for level, gap in zip(levels, gaps, strict=True)])
    together = np.concatenate(gaps)
    assert result.difference == pytest.approx(together.mean())
    assert result.p == compare(together, np.zeros(330)).p
    assert pooled([(gaps[0], np.zeros(30))]) == compare(gaps[0], np.zeros(30))


def test_the_pooled_interval_draws_each_targets_questions_among_themselves():
    # no question differs within a target: nothing is left to chance, though the targets differ
    ones, zeros = np.ones(20), np.zeros(20)
    result = pooled([(ones, zeros), (zeros, zeros)])
    assert (result.difference, result.low, result.high) == (0.5, 0.5, 0.5)


def test_holm_adjusts_in_the_order_of_the_tests_and_does_not_count_what_was_not_tested():
    # sorted .01 .02 .04 times 3, 2, 1, then never smaller than the one before
    np.testing.assert_allclose(holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])
    np.testing.assert_allclose(holm([0.04, np.nan, 0.01]), [0.04, np.nan, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.9]), [1, 1])
    assert np.isnan(holm([np.nan])).all()


# --- verdicts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "published", "expected"),
    [
        (0.5, 2.0, 1.7, "reproduced"),
        (0.5, 1.5, 1.7, "same direction, smaller"),
        (1.8, 2.5, 1.7, "same direction, larger"),
        (-0.5, 1.5, 1.7, "not seen"),
        (-2.0, -0.5, 1.7, "contradicted"),
        (-1.0, 1.0, 0.0, "undecided"),
        (0.5, 1.0, 0.0, "contradicted"),
        (0.0, 2.0, 1.7, "undecided"),
        (0.5, 1.7, 1.7, "reproduced"),
    ],
)
def test_verdicts_are_those_of_the_table_and_the_same_whichever_system_comes_first(low, high, published, expected):
    assert verdict(low, high, published) == expected
    assert verdict(-high, -low, -published) == expected


def test_so_many_questions_make_the_interval_narrower_than_the_published_difference():
    differences = np.random.default_rng(8).normal(0, 0.3, 200)
    n = questions_to_decide(differences, published=0.03)
    error = np.std(differences, ddof=1) / np.sqrt([n - 1, n])
    widths = 2 * stats.norm.ppf(0.975) * error
    assert widths[1] < 0.03 <= widths[0]
    assert questions_to_decide(differences, -0.03) == n
    assert questions_to_decide(np.zeros(9), 0.01) == 2
    with pytest.raises(ValueError, match="expected published, not 0"):
        questions_to_decide(differences, published=0)
