import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from as2lib.metrics import significance
from as2lib.metrics.ranking import per_question
from as2lib.metrics.significance import compare, holm, over_questions_and_seeds, seed_variances, signed_rank

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def systems():
    generator = np.random.default_rng(0)
    b = generator.random(200).round(2)
    return np.clip(b + generator.normal(0.03, 0.1, 200), 0, 1).round(2), b


def permutation_p(gap):
    """Over every sign of every difference."""
    return stats.permutation_test([gap], np.sum, permutation_type="samples", n_resamples=np.inf).pvalue


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.25, 0.5, 1.0])] * 2), min_size=2, max_size=8))
def test_either_test_is_the_share_of_all_signs_of_differences_or_of_pratts_ranks(pairs):
    a, b = np.transpose(pairs)
    result, gap = compare(a, b, resamples=1), np.round(a - b, 12)
    assert result.p == pytest.approx(permutation_p(gap))
    assert signed_rank(gap)[1] == pytest.approx(permutation_p(stats.rankdata(np.abs(gap)) * np.sign(gap)))


def test_many_differences_are_signed_at_random_and_the_same_seed_gives_the_same_p():
    gap = np.random.default_rng(3).normal(0.15, 1, 203)
    p = compare(gap, np.zeros(203)).p
    assert p == pytest.approx(2 * stats.norm.sf(abs(gap.sum()) / np.sqrt((gap**2).sum())), abs=0.01)
    assert compare(gap, np.zeros(203)).p == p
    assert compare(gap, np.zeros(203), seed=1).p != p
    assert compare(10 + gap, np.zeros(203), resamples=99).p == 1 / 100


def test_statistics_equal_those_of_scipy(systems):
    a, b = systems
    result = compare(a, b)
    wilcoxon = stats.wilcoxon(np.round(a - b, 12), zero_method="pratt", method="asymptotic")
    assert signed_rank(np.round(a - b, 12))[:2] == (wilcoxon.statistic, wilcoxon.pvalue)
    assert (result.n, result.mean_a, result.mean_b) == pytest.approx((200, a.mean(), b.mean()))
    assert result.difference == pytest.approx(a.mean() - b.mean())
    assert (result.wins, result.losses, result.ties) == ((a > b).sum(), (a < b).sum(), (a == b).sum())


def test_systems_that_cannot_be_paired_are_refused():
    series = [pd.Series([1, 2], index) for index in (["p", "q"], ["p", "r"], ["p", "p"])]
    measures = per_question(["p", "p", "q"], [1, 0, 1], [1, 2, 3], measures=["AP", "R@2"])  # whose columns are no seeds
    wrong = [([1, 2], [1, 2, 3]), ([1], [1]), ([1, np.nan], [1, 2]), series[:2], series[1:], (measures, measures)]
    for a, b in wrong:
        with pytest.raises(ValueError):
            compare(a, b)


def test_seeds_count_by_each_questions_mean_and_series_are_paired_by_index_beside_an_array_by_position(systems):
    a, b = systems
    seeds = np.stack([a - 0.1, a, a + 0.1], axis=1)
    assert compare(seeds, b[:, None]) == compare(a, b) == compare(seeds, b)
    frame = pd.DataFrame(seeds, index=[f"q{i}" for i in range(len(a))])
    reversed_b = pd.Series(b, index=frame.index).iloc[::-1]
    assert compare(frame, reversed_b.to_frame()) == compare(frame.mean(axis=1), reversed_b) == compare(a, b)
    assert compare(frame[::-1], b) == compare(a[::-1], b) != compare(a, b)
    assert compare(a, b).low != compare(a, b, seed=1).low


def differences(generator, questions, seeds, of_questions=0.0, of_seeds=0.0, rest=0.0):
    """Differences of a true null, (questions, seeds), from three independent normal parts with these deviations."""
    parts = [(of_questions, (questions, 1)), (of_seeds, (1, seeds)), (rest, (questions, seeds))]
    return sum(deviation * generator.normal(size=shape) for deviation, shape in parts) + np.zeros((questions, seeds))


def test_where_no_question_differs_from_another_the_interval_is_students_of_the_seeds():
    seeds = np.array([0.01, 0.03, 0.05])
    [estimate] = over_questions_and_seeds([[np.tile(seeds, (50, 1))]], resamples=20_000)
    expected = stats.t.interval(0.95, 2, seeds.mean(), stats.sem(seeds))
    np.testing.assert_allclose([estimate.low, estimate.high], expected, rtol=0.02)
    assert estimate.p == pytest.approx(stats.ttest_1samp(seeds, 0).pvalue, rel=0.02)
    assert (estimate.questions_low, estimate.questions_high) == pytest.approx((0.03, 0.03))


def test_the_variance_is_that_of_the_analysis_of_variance():
    gaps = differences(np.random.default_rng(2), 60, 40, 0.3, 0.1, 0.5)
    [estimate] = over_questions_and_seeds([[gaps]], resamples=50_000)
    of_questions, of_seeds = 40 * gaps.mean(axis=1).var(ddof=1), 60 * gaps.mean(axis=0).var(ddof=1)
    total = ((gaps - gaps.mean()) ** 2).sum()
    left = (total - 59 * of_questions - 39 * of_seeds) / (59 * 39)
    error = np.sqrt((of_questions + of_seeds - left) / gaps.size)
    np.testing.assert_allclose(estimate.high - estimate.low, 2 * 1.98 * error, rtol=0.03)


def test_the_other_way_round_is_the_mirror_image_and_pairs_do_not_touch_each_other():
    generator = np.random.default_rng(5)
    first, second = differences(generator, 40, 3, 1, 1, 1), differences(generator, 30, 5, 1, 1, 1)
    there, back, other = over_questions_and_seeds([[first], [-first], [second]], resamples=500)
    assert (back.difference, back.low, back.high, back.p) == (-there.difference, -there.high, -there.low, there.p)
    assert over_questions_and_seeds([[second]], resamples=500) == [other]


def test_no_difference_at_all_is_none():
    [none] = over_questions_and_seeds([[np.zeros((9, 3))]])
    assert none[:6] == (0, 0, 0, 1, 0, 0)


def test_targets_count_by_their_questions_and_are_drawn_by_themselves():
    small, large = np.full((20, 2), 0.4), np.full((60, 2), -0.2)
    [estimate] = over_questions_and_seeds([[small, large]])
    # nothing differs within a target: nothing is left to chance, though the targets differ
    assert estimate[:3] == pytest.approx((-0.05, -0.05, -0.05))
    twice = [differences(np.random.default_rng(7), 60, 3, 0.3, 0, 0.1) + 0.1] * 2
    alone, both = over_questions_and_seeds([twice[:1]])[0], over_questions_and_seeds([twice])[0]
    assert both.difference == pytest.approx(alone.difference)
    assert both.high - both.low < alone.high - alone.low


def test_holm_is_that_of_statsmodels_and_does_not_count_what_was_not_tested():
    np.testing.assert_allclose(holm([0.04, np.nan, 0.01]), [0.04, np.nan, 0.02])
    assert len(holm([])) == 0
    p = np.random.default_rng(0).random(50).round(2)
    np.testing.assert_array_equal(holm(p / 20), multipletests(p / 20, method="holm")[1])


@pytest.mark.parametrize(
    ("low", "high", "published", "expected"),
    [
        (0.5, 2.0, 1.7, "reproduced"),
        (0.5, 1.5, 1.7, "same direction, smaller"),
        (1.8, 2.5, 1.7, "same direction, larger"),
        (-0.5, 1.5, 1.7, "not seen"),
        (-0.5, 2.0, 1.7, "undecided"),
        (-2.0, -0.5, 1.7, "contradicted"),
        (-1.0, 1.0, 0.0, "undecided"),
        (0.5, 1.0, 0.0, "contradicted"),
    ],
)
def test_verdicts_are_those_of_the_table_and_the_same_whichever_system_comes_first(low, high, published, expected):
    inside = low <= 0 <= high, low <= published <= high
    assert significance.verdict((low + high) / 2, published, *inside) == expected
    assert significance.verdict(-(low + high) / 2, -published, *inside) == expected


@pytest.mark.parametrize(
    ("low", "high", "equal", "not_worse"),
    [
        (-0.3, 0.4, "supported", "supported"),
        (-0.3, 0.9, "undecided", "supported"),
        (0.9, 2.0, "contradicted", "supported"),
        (-2.0, -0.9, "contradicted", "contradicted"),
        (-0.8, 0.4, "undecided", "undecided"),  # an end on the margin is not inside
    ],
)
def test_equality_is_judged_by_a_margin_and_not_worse_by_one_side_of_it(low, high, equal, not_worse):
    assert significance.equality(low, high, 0.8) == significance.equality(-high, -low, 0.8) == equal
    assert significance.equality(low, high, 0.8, one_sided=True) == not_worse


def test_the_interval_and_p_are_never_more_certain_than_over_questions_alone():
    generator = np.random.default_rng(6)
    trials = [[differences(generator, 80, 3, 0.1, 0, 0.3) + 0.05] for _ in range(200)]
    estimates = over_questions_and_seeds(trials, resamples=500)
    assert all(each.low <= each.questions_low and each.high >= each.questions_high for each in estimates)
    # as often happens where what is left is large and three seeds agree by chance
    assert 0.05 < np.mean([(each.low, each.high) == each[4:6] for each in estimates]) < 0.5
    assert all((each.p < 0.05) == (not each.low <= 0 <= each.high) for each in estimates if abs(each.p - 0.05) > 0.01)


def test_the_p_of_a_published_difference_says_whether_the_interval_holds_it():
    gaps = differences(np.random.default_rng(4), 100, 5, 0.2, 0.01, 0.1) + 0.03
    [plain] = over_questions_and_seeds([[gaps]])
    assert np.isnan(plain.p_published)
    ends = [plain.low - 0.01, plain.low + 0.01, plain.high - 0.01, plain.high + 0.01, 0.0]
    p_values = [each.p_published for each in over_questions_and_seeds([[gaps]] * 5, published=ends)]
    assert [p < 0.05 for p in p_values[:4]] == [True, False, False, True]
    assert p_values[4] == plain.p


@pytest.mark.parametrize("seeds", [3, 10])
def test_the_smallest_difference_is_seen_in_four_trials_of_five(seeds):
    parts = {"of_questions": 0.15, "of_seeds": 0.01, "rest": 0.15}
    generator = np.random.default_rng(11)
    smallest = significance.smallest_difference([differences(generator, 100, 500, **parts)], seeds)
    trials = [[differences(generator, 100, seeds, **parts) + smallest] for _ in range(400)]
    estimates = over_questions_and_seeds(trials, resamples=500)
    assert 0.74 <= np.mean([estimate.low > 0 for estimate in estimates]) <= 0.9


def test_more_seeds_see_less_until_questions_are_what_lacks():
    gaps = differences(np.random.default_rng(12), 200, 3, 0.2, 0.02, 0.1)
    few, many, endless = (significance.smallest_difference([gaps], seeds) for seeds in (3, 10, 100_000))
    assert significance.smallest_difference([gaps]) == few > many > endless > 0
    needed = significance.seeds_needed([gaps], -many)  # whichever system comes first
    assert needed == 10
    assert significance.seeds_needed([gaps], endless / 2) is None
    assert np.isnan(significance.smallest_difference([gaps[:, :1]]))
    assert significance.seeds_needed([gaps[:, :1]], 0.1) is None


def test_what_seeds_add_is_pooled_over_the_comparisons_of_a_study_and_corrected_tests_see_less():
    generator = np.random.default_rng(13)
    pairs = [[differences(generator, 200, 3, 0.2, 0.02, 0.1)] for _ in range(300)]
    [variance] = seed_variances([*pairs, [np.zeros((200, 3))]])  # what no seed changes counts for nothing
    assert variance == pytest.approx(0.02**2 + 0.1**2 / 200, rel=0.1)
    smallest = significance.smallest_difference
    alone, pooled = ([smallest(pair, of_seeds=of) for pair in pairs] for of in (None, [variance]))
    assert np.std(pooled) < np.std(alone) / 5
    assert smallest(pairs[0], tests=8) > smallest(pairs[0]) > smallest([*pairs[0]] * 2)


@pytest.mark.parametrize("margin", [0.03, 0.05])
def test_the_chance_that_equal_systems_are_called_equal_is_how_often_they_are(margin):
    parts = {"of_questions": 0.15, "of_seeds": 0.005, "rest": 0.15}
    generator = np.random.default_rng(14)
    trials = [[differences(generator, 100, 10, **parts)] for _ in range(400)]
    chance = np.mean([significance.chance_of_equality(trial, margin, seed_variances(trials)) for trial in trials[:50]])
    estimates = over_questions_and_seeds(trials, resamples=500)
    called = np.mean([significance.equality(each.low, each.high, margin) == "supported" for each in estimates])
    assert called == pytest.approx(chance, abs=0.08)


def test_differences_and_their_sizes_that_rounding_tells_apart_are_tied():
    a = np.mean([[0.1, 0.7, 0.3], [0.2, 0.1, 0.3], [0.3, 0.7, 0.3]], axis=0)
    b = np.mean([[0.3, 0.7, 0.3], [0.2, 0.7, 0.3], [0.1, 0.1, 0.3]], axis=0)
    assert (a != b).any()
    assert compare(a, b).ties == 3
    exact = 2.0**-13 * np.array([1.0] * 8 + [-1.0] * 6 + [3.0, -5.0])  # has 13 decimals, one more than are kept
    noise = 1e-16 * np.random.default_rng(0).choice([-1, 1], 16)
    assert signed_rank(exact + noise) == signed_rank(np.round(exact + noise, 12)) == signed_rank(exact)
    assert signed_rank(exact)[1] == stats.wilcoxon(exact, zero_method="pratt", method="asymptotic").pvalue


def test_the_effect_of_hand_worked_differences_and_of_none():
    # Pratt's ranks 1..5 of which 1 is dropped; R+ = 2 + 4 + 5, R- = 3
    statistic, _, effect = signed_rank(np.array([0, 0.1, -0.2, 0.3, 0.4]))
    assert (statistic, effect) == (3, pytest.approx((11 - 3) / (11 + 3)))
    assert signed_rank(np.zeros(3)) == (0, 1, 0)
