"""Whether two systems differ on the same questions, and what that says of a published difference; knows arrays of
per-question values and no metric.  scipy is imported by what needs it.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from as2lib.metrics.ranking import Values, paired

# n questions · s seeds · r resamples
DECIMALS = 12  # values are rounded to these: in a mean over seeds, 1e-17 must not turn a tie into a difference
SUM_DECIMALS = 9  # so are their sums, so that sums which are equal compare as equal
TAIL = 50 * (1 - 0.95)  # percent of the draws beyond each end of an interval
SAME = 10.0**-SUM_DECIMALS  # sizes of differences that are nearer than this are tied
FEW_DIFFERENCES = 13  # up to so many questions that differ, every pattern of signs is tried
POWER = 0.8  # with which a smallest difference is seen
POWER_DRAWS = 20_000
MOST_SEEDS = 200  # that are asked for
MEMORY = 2**18  # draws of a part: as many as stay near the processor


class Comparison(NamedTuple):
    """What `compare` says of systems a and b; positive differences and effects speak for a."""

    n: int
    mean_a: float
    mean_b: float
    difference: float  # mean_a - mean_b
    low: float  # bootstrap interval of the difference
    high: float
    p: float  # paired permutation test of the difference
    wins: int  # questions where a is better, b is better, and neither
    losses: int
    ties: int


class Estimate(NamedTuple):
    """What `over_questions_and_seeds` says of a pair of systems."""

    difference: float
    low: float  # 95 % interval over questions and seeds
    high: float
    p: float  # two-sided, of the same draws
    questions_low: float  # 95 % interval over questions alone: what other questions would give with these very fits
    questions_high: float
    p_published: float  # the same as p, of the published difference in the place of 0


def compare(a: Values, b: Values, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Paired comparison of two systems' values on the same questions; of several seeds, each question's mean counts.

    low, high: 95 % percentile bootstrap over questions.  p: two-sided permutation test, `resamples` random signs of the
    questions' differences, or every pattern of signs where few differ.

    a, b: (n,) or (n, s) finite numbers, n >= 2; two Series or frames are paired by their index, else by position.
    Raises ValueError where lengths or indexes differ, or a value is not finite.
    Source: Fisher 1935 and Smucker et al. 2007.  Many comparisons at once: `holm`; what other seeds would give:
    `over_questions_and_seeds`; Wilcoxon's test: `signed_rank`.
    """
    a, b = (values.mean(axis=1) if values.ndim == 2 else values for values in paired(a, b))
    if a.shape != b.shape or len(a) < 2 or not np.isfinite([a, b]).all():
        raise ValueError(f"expected finite values, one a question, of 2 or more; got {a.shape} and {b.shape}, or nan")
    a, b = np.round(a, DECIMALS), np.round(b, DECIMALS)
    gap = np.round(a - b, DECIMALS)
    [means] = _resampled_means([gap], resamples, seed)
    means_of_systems = float(a.mean()), float(b.mean()), float(gap.mean())
    outcomes = int(np.sum(gap > 0)), int(np.sum(gap < 0)), int(np.sum(gap == 0))
    return Comparison(len(gap), *means_of_systems, *_interval(means), _permutation_p(gap, resamples, seed), *outcomes)


def over_questions_and_seeds(
    pairs: Sequence[Sequence[np.ndarray]], resamples: int = 10_000, published: Sequence[float] = ()
) -> list[Estimate]:
    """How far apart the systems of each pair are, with what other questions and other seeds would make of it.

    Each of `resamples` draws of the difference is the sum of
        its mean over questions and seeds,
        sqrt(1 - MS_e / MS_q) times what drawing the questions anew, with replacement, adds to it, and
        t sd(m) / sqrt(s), m the means of the s seeds, t drawn from Student's distribution of s - 1 degrees of freedom
    low, high: 95 % of the draws, and never inside the interval over questions alone, which draws no seeds
    p: twice the share of the draws on the rarer side of 0, and never below that of the draws over questions alone

    MS_q and MS_e are the mean squares of questions and of what is left (question by seed) in an analysis of variance.
    What is left moves the seeds' means too, so it is taken out of the questions, never below 0: the variance is that of
    reader studies, with seeds for readers and questions for cases.  docs/statistics.md: why, and how often it errs.

    pairs: for each pair of systems, the differences a - b on each target, (n, s), n >= 2, finite: a row a question, a
        column a seed of both.  Targets are drawn by themselves, as strata, and count by their questions.
    published: a difference a pair, in the same units, nan for none; empty for none at all.
    Returns an `Estimate` a pair; low, high and both p are nan where a target has one seed.
    Source: Dorfman, Berbaum & Metz 1992 and Hillis 2007 (mean squares of reader studies); Fisher 1935 (draws of two
    errors, one of them Student's, added); Clark 1973 (why both are drawn).  What it can see: `smallest_difference`.
    """
    pairs = [[np.round(np.asarray(gaps, dtype=np.float64), DECIMALS) for gaps in targets] for targets in pairs]
    published = list(published) or [math.nan] * len(pairs)
    columns = [[gaps.mean(axis=1) for gaps in target] for target in zip(*pairs, strict=True)]
    resampled = [_resampled_means(target, resamples, 0, place) for place, target in enumerate(columns)]
    estimates = []
    for targets, of_questions, of_paper in zip(pairs, zip(*resampled, strict=True), published, strict=True):
        questions, both, difference = np.zeros(resamples), np.zeros(resamples), 0.0
        for place, (gaps, means) in enumerate(zip(targets, of_questions, strict=True)):
            share, mean = len(gaps) / sum(map(len, targets)), gaps.mean()
            of_seeds = drawn_seeds(gaps, resamples, [0, place, 1])
            difference += share * mean
            questions += share * means
            both += share * (mean + _questions_share(gaps) * (means - mean) + of_seeds)
        (low, high), of_questions_alone = _interval(both), _interval(questions)
        # Never inside what questions alone say; Python's min and max keep the nan of one seed.
        low, high = min(low, of_questions_alone[0]), max(high, of_questions_alone[1])
        p, p_published = (max(_p_of_draws(both, at), _p_of_draws(questions, at)) for at in (0.0, of_paper))
        estimates.append(Estimate(float(difference), low, high, p, *of_questions_alone, p_published))
    return estimates


def _p_of_draws(draws: np.ndarray, at: float) -> float:
    """Twice the share of the draws on the rarer side of a value; nan where it or they are."""
    if math.isnan(at + draws[0]):
        return math.nan
    draws, at = np.round(draws, DECIMALS), round(at, DECIMALS)
    rarer = min(int(np.sum(draws <= at)), int(np.sum(draws >= at)))
    return min(1.0, 2 * (rarer + 1) / (len(draws) + 1))


def smallest_difference(
    targets: Sequence[np.ndarray], seeds: int | None = None, of_seeds: Sequence[float] | None = None, tests: int = 1
) -> float:
    """The smallest true difference whose interval over questions and seeds leaves 0 out in 80 of 100 studies like this.

    With the mean squares of questions MS_q, of seeds MS_s and of what is left MS_e, the mean of s seeds errs by
        sqrt(Q) z + sqrt(S / s) t,   Q = max(0, MS_q - MS_e) / (n s'),   S = max(MS_s, MS_e) / n,
    z normal, t Student's of s - 1 degrees of freedom, s' the seeds at hand: other numbers of seeds change S / s alone.
    The smallest difference is the 97.5th and the 80th percentile of that error, added.

    targets: the differences a - b on each target, (n, s'), n >= 2, s' >= 2, as in `over_questions_and_seeds`.
    seeds: s; default: those at hand.  nan where a target has one seed.
    of_seeds: S of each target, in place of what so few seeds say of it: `seed_variances`.
    tests: that are corrected together (Holm): what the first step sees, whose p is to be below 0.05 over their number.
    Source: the power of a t test, with the variances of Hillis 2007.  Seeds for a difference: `seeds_needed`.
    """
    return seen(_errors(targets, seeds, of_seeds), tests)


def seen(error: np.ndarray, tests: int = 1) -> float:
    """The smallest difference that is seen in 80 of 100 studies whose difference has these errors, draws around 0."""
    return float(np.percentile(error, 100 - TAIL / tests) + np.percentile(error, 100 * POWER))


def chance_of_equality(targets: Sequence[np.ndarray], margin: float, of_seeds: Sequence[float] | None = None) -> float:
    """The share of studies like this one in which the interval of two equal systems lies within a margin of 0.

    targets, of_seeds: as in `smallest_difference`.
    """
    error = _errors(targets, None, of_seeds)
    return float(np.mean(np.abs(error) < margin - np.percentile(error, 100 - TAIL)))


def seed_variances(pairs: Sequence[Sequence[np.ndarray]]) -> list[float]:
    """S of `smallest_difference` on each target, pooled over the comparisons of a study by their degrees of freedom.

    pairs: the differences of each pair on each target, (n, s).  Those of one seed, or that no seed changes, count for
    nothing; nan where none counts.
    """
    variances = []
    for of_target in zip(*pairs, strict=True):
        squares, freedom = np.zeros(2), 0
        for gaps in (gaps for gaps in of_target if np.shape(gaps)[1] > 1):
            n, s = np.shape(gaps)
            _, of_seeds, left = mean_squares(np.asarray(gaps, dtype=np.float64))
            if of_seeds or left:
                squares += (s - 1) * np.array([of_seeds, left]) / n
                freedom += s - 1
        variances.append(float(squares.max() / freedom) if freedom else math.nan)
    return variances


def _errors(targets: Sequence[np.ndarray], seeds: int | None, of_seeds: Sequence[float] | None) -> np.ndarray:
    """Draws around 0 of what a mean over questions and seeds errs by; nan where a target has one seed."""
    if min(np.shape(gaps)[1] for gaps in targets) < 2:
        return np.full(POWER_DRAWS, math.nan)
    from scipy.special import ndtri, stdtrit

    even = (np.arange(POWER_DRAWS) + 0.5) / POWER_DRAWS
    generator, error = np.random.default_rng(0), np.zeros(POWER_DRAWS)
    for gaps, pooled in zip(targets, of_seeds or [math.nan] * len(targets), strict=True):
        n, here = np.shape(gaps)
        s, share = seeds or here, n / sum(map(len, targets))
        of_questions, between, left = mean_squares(np.asarray(gaps, dtype=np.float64))
        variance = max(between, left) / n
        if variance and not math.isnan(pooled):  # what no seed changes stays so
            variance = pooled
        error += share * math.sqrt(max(0.0, of_questions - left) / (n * here)) * generator.permutation(ndtri(even))
        error += share * math.sqrt(variance / s) * generator.permutation(stdtrit(s - 1, even))
    return error


def seeds_needed(
    targets: Sequence[np.ndarray], difference: float, of_seeds: Sequence[float] | None = None
) -> int | None:
    """How many seeds of both systems it takes to see a difference with 80 % power; None where 200 are too few.

    targets, of_seeds: as in `smallest_difference`, whose units `difference` has.
    """
    numbers = range(2, MOST_SEEDS + 1)
    place = bisect_left(numbers, True, key=lambda s: smallest_difference(targets, s, of_seeds) <= abs(difference))
    return numbers[place] if place < len(numbers) else None


def signed_rank(gap: np.ndarray) -> tuple[float, float, float]:
    """Wilcoxon's signed-rank test of (n,) differences: the statistic, its two-sided p value, the effect size.

    Zeros are ranked and then not counted; sizes that rounding alone tells apart share a rank.  p: over every pattern of
    signs where few differ, else the normal approximation.
    effect = (R+ - R-) / (R+ + R-), the rank-biserial correlation.  Raises ValueError where one is not finite.
    Source: Pratt 1959; Kerby 2014.  (scipy's exact table is no such thing beside zeros: it counts them.)
    """
    gap = np.where(np.abs(np.asarray_chkfinite(gap)) < SAME, 0, gap)
    if not gap.any():
        return 0.0, 1.0, 0.0
    from scipy import stats

    order = np.argsort(np.abs(gap), kind="stable")
    place = np.empty(len(gap), dtype=int)  # of a size among the sizes that differ
    place[order] = np.cumsum(np.diff(np.abs(gap)[order], prepend=0) > SAME)
    signed, rank = place * np.sign(gap), stats.rankdata(place)
    plus, minus = float(rank[gap > 0].sum()), float(rank[gap < 0].sum())
    if np.count_nonzero(gap) <= FEW_DIFFERENCES:
        p = _p_of_all_signs((rank * np.sign(gap))[gap != 0])
    else:
        p = float(stats.wilcoxon(signed, zero_method="pratt", alternative="two-sided", method="asymptotic").pvalue)
    return min(plus, minus), p, (plus - minus) / (plus + minus)


def holm(p_values: Values) -> np.ndarray:
    """Holm's adjusted p values (Holm 1979), (t,), in the order of the p values; a nan stays nan and is no test."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted, tests = np.full(len(p), np.nan), np.count_nonzero(~np.isnan(p))
    order = np.argsort(p)[:tests]  # nan comes last
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(tests, 0, -1)), 1)
    return adjusted


def verdict(difference: float, published: float, zero_inside: bool, published_inside: bool) -> str:
    """What an interval of our difference says of a published difference, by what lies inside, its ends too.

    | zero                      | published | verdict                             |
    |---------------------------|-----------|-------------------------------------|
    | outside, in its direction | inside    | reproduced                          |
    | outside, in its direction | outside   | same direction, smaller (or larger) |
    | inside                    | outside   | not seen                            |
    | inside                    | inside    | undecided                           |
    | outside, against it       | –         | contradicted                        |

    published: in the same units and the same order of the two systems.  A published 0 has no direction: an interval
    without zero contradicts it.  Of two that are said to be equal: `equality`.
    """
    if zero_inside:
        return "undecided" if published_inside else "not seen"
    if published == 0 or (published > 0) != (difference > 0):
        return "contradicted"
    if published_inside:
        return "reproduced"
    return "same direction, " + ("larger" if abs(difference) > abs(published) else "smaller")


def equality(low: float, high: float, margin: float, one_sided: bool = False) -> str:
    """What an interval of our difference a - b says of the claim that a equals b; one-sided: that a is not worse.

    "supported" inside the margin (both one-sided tests at 2.5 % reject), "contradicted" outside it, else "undecided".
    Source: Schuirmann 1987 (two one-sided tests).
    """
    if low > -margin and (one_sided or high < margin):
        return "supported"
    return "contradicted" if high < -margin or (low > margin and not one_sided) else "undecided"


def mean_squares(gaps: np.ndarray) -> tuple[float, float, float]:
    """Of questions, of seeds, and of what is left, in an analysis of variance of differences (n, s)."""
    n, s = gaps.shape
    rows, columns = gaps.mean(axis=1, keepdims=True), gaps.mean(axis=0)
    left = np.sum((gaps - rows - columns + gaps.mean()) ** 2) / max(1, (n - 1) * (s - 1))
    of_seeds = n * np.sum((columns - columns.mean()) ** 2) / max(1, s - 1)
    return s * np.sum((rows - rows.mean()) ** 2) / (n - 1), of_seeds, left


def _questions_share(gaps: np.ndarray) -> float:
    """sqrt(1 - MS_e / MS_q): which part of the spread of questions' means over seeds is theirs."""
    of_questions, _, left = mean_squares(gaps)
    return math.sqrt(1 - left / of_questions) if left < of_questions else 0.0


def drawn_seeds(gaps: np.ndarray, resamples: int, seed: list[int]) -> np.ndarray:
    """What other seeds would add to the mean of differences (n, s), a column a seed: (r,); nan of one seed."""
    s = gaps.shape[1]
    if s == 1:
        return np.full(resamples, np.nan)
    from scipy.special import stdtrit

    error = float(np.std(gaps.mean(axis=0), ddof=1)) / math.sqrt(s)
    t = stdtrit(s - 1, (np.arange(resamples) + 0.5) / resamples)  # evenly: chance would move its far quantiles
    # With the sign of the mean, b − a is the mirror image of a − b.
    return math.copysign(error, gaps.mean()) * np.random.default_rng(seed).permutation(t)


def _resampled_means(values: Sequence[np.ndarray], resamples: int, *seed: int) -> list[np.ndarray]:
    """The mean of each (n,) over questions that are drawn with replacement, (r,); the same draws for all of one n."""
    means: dict[int, np.ndarray] = {}  # by the place in `values`
    for n in {len(column) for column in values}:
        same = [i for i, column in enumerate(values) if len(column) == n]
        matrix = np.stack([values[i] for i in same], axis=1)
        of_draws = np.concatenate([counts @ matrix / n for counts in _drawn(n, resamples, seed)])  # (r, as many)
        means |= dict(zip(same, of_draws.T, strict=True))
    return [means[i] for i in range(len(values))]


@lru_cache(maxsize=2)  # the comparisons of a page are over the same questions
def _drawn(n: int, resamples: int, seed: tuple[int, ...]) -> list[np.ndarray]:
    """How often each of n questions is in each resample, (r, n), some resamples a part; never 256 times."""
    generator, step, parts = np.random.default_rng(seed), max(1, MEMORY // n), []
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        draws = generator.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        parts.append(np.bincount(draws.ravel(), minlength=rows * n).reshape(rows, n).astype(np.uint8))
    return parts


def _interval(draws: np.ndarray) -> tuple[float, float]:
    low, high = np.round(np.percentile(draws, [TAIL, 100 - TAIL]), DECIMALS)
    return float(low), float(high)


def _permutation_p(gap: np.ndarray, resamples: int, seed: int) -> float:
    """P(|sum of the differences, each under a random sign| >= |their sum|)."""
    gap = gap[gap != 0]
    if len(gap) <= FEW_DIFFERENCES:
        return _p_of_all_signs(gap)
    generator, step = np.random.default_rng(seed), max(1, MEMORY // len(gap))
    observed, extreme = abs(np.round(gap.sum(), SUM_DECIMALS)), 0
    for start in range(0, resamples, step):
        signs = 2 * generator.integers(0, 2, (min(step, resamples - start), len(gap)), dtype=np.int8) - 1
        extreme += int(np.sum(np.abs(np.round(signs @ gap, SUM_DECIMALS)) >= observed))
    return (extreme + 1) / (resamples + 1)


def _p_of_all_signs(values: np.ndarray) -> float:
    """The same over every pattern of signs."""
    signs = 1 - 2 * (np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1)
    sums = np.abs(np.round(signs @ values, SUM_DECIMALS))
    return float(np.mean(sums >= abs(np.round(values.sum(), SUM_DECIMALS))))
