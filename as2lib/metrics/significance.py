"""Whether two systems differ on the same questions, and what that says of a published difference; knows arrays of
per-question values and no metric.

One rule everywhere: a difference of means, its 95 % interval over questions, and the permutation test of that mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

from as2lib.metrics.ranking import Values, paired

# n questions · s seeds
DECIMALS = 12  # values are rounded to these: in a mean over seeds, 1e-17 must not turn a tie into a difference
GRID = 2**40  # the largest difference in whole steps, so that sums of differences that are equal compare as equal
REACHABLE = 2**17  # sums of signed differences that are enumerated: 18 differences, or any number of a few sizes
EXACT_RANKS = 50  # questions that differ, up to which the signed-rank test is exact
MEMORY = 2**16  # resampled values held at once: as many as stay near the processor


@dataclass(frozen=True)
class Comparison:
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
    wilcoxon: float
    wilcoxon_p: float
    effect: float  # matched-pairs rank-biserial correlation, in [-1, 1]
    spearman: float
    spearman_p: float


def compare(a: Values, b: Values, resamples: int = 10_000, confidence: float = 0.95, seed: int = 0) -> Comparison:
    """Paired comparison of two systems' values on the same questions; of several seeds, each question's mean counts.

    difference = mean(a) - mean(b);  low, high: percentile bootstrap over questions
    p: two-sided permutation test of the difference, the sign of each question's difference drawn anew; exact where few
        questions differ or their differences have few sizes, else from `resamples` draws and the one that is observed
    wilcoxon: signed-rank test, two-sided, zeros ranked but not counted (Pratt); exact up to 50 questions that differ
    effect = (R+ - R-) / (R+ + R-) over the same ranks;  spearman: nan where a or b is constant or n < 3
    Without any difference both p are 1 and the effect 0.

    a, b: (n,) or (n, s) finite numbers, n >= 2; two Series or frames are paired by their index, else by position.
    Raises ValueError where lengths or indexes differ, a value is not finite, or a parameter is out of its range.
    Source: Fisher 1935 and Smucker et al. 2007 (permutation); the tests named under CERBERUS Table 2 (Wilcoxon,
    Spearman); Pratt 1959; Kerby 2014.  Many comparisons at once: `holm`; several targets: `pooled`.
    """
    return pooled([(a, b)], resamples, confidence, seed)


def pooled(
    pairs: Sequence[tuple[Values, Values]], resamples: int = 10_000, confidence: float = 0.95, seed: int = 0
) -> Comparison:
    """`compare` over the questions of several targets together, stratified by target.

    pairs: the (a, b) of each target, as `compare` takes them, and its errors.
    Every question counts the same, so a target counts by its number of questions. The bootstrap draws as many questions
    of a target as it has; the permutation test signs each question by itself, so that no target's difference in
    difficulty or in spread enters it.
    """
    if not (0 < confidence < 1 and resamples >= 1):
        values = f"confidence {confidence}, resamples {resamples}"
        raise ValueError(f"expected 0 < confidence < 1 and resamples >= 1; got {values}")
    if not pairs:
        raise ValueError("expected the values of at least one target, got none")
    targets = [_pair(a, b) for a, b in pairs]
    gaps = [np.round(a - b, DECIMALS) for a, b in targets]
    a, b = (np.concatenate(values) for values in zip(*targets, strict=True))
    gap = np.concatenate(gaps)
    low, high = _interval(gaps, resamples, confidence, seed)
    wilcoxon, wilcoxon_p, effect = _signed_rank(gap)
    spearman, spearman_p = _spearman(a, b)
    return Comparison(
        n=len(gap),
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        difference=float(gap.mean()),
        low=low,
        high=high,
        p=_permutation_p(gap, resamples, seed),
        wins=int(np.sum(gap > 0)),
        losses=int(np.sum(gap < 0)),
        ties=int(np.sum(gap == 0)),
        wilcoxon=wilcoxon,
        wilcoxon_p=wilcoxon_p,
        effect=effect,
        spearman=spearman,
        spearman_p=spearman_p,
    )


def holm(p_values: Values) -> np.ndarray:
    """Holm's adjusted p values, in the order of the p values; a nan stays nan and is not counted as a test.

    p_values: (t,) numbers in [0, 1] or nan.  Returns (t,) float64.
    Raises ValueError where a value lies outside [0, 1].
    Source: Holm 1979, by `statsmodels.stats.multitest.multipletests`.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if ((p < 0) | (p > 1)).any():
        raise ValueError(f"p_values must lie in [0, 1]; got {p}")
    adjusted, known = np.full(len(p), np.nan), ~np.isnan(p)
    if known.any():
        adjusted[known] = multipletests(p[known], method="holm")[1]
    return adjusted


def verdict(low: float, high: float, published: float) -> str:
    """What an interval of our difference says of a published difference.

    | zero                      | published | verdict                             |
    |---------------------------|-----------|-------------------------------------|
    | outside, in its direction | inside    | reproduced                          |
    | outside, in its direction | outside   | same direction, smaller (or larger) |
    | inside                    | outside   | not seen                            |
    | inside                    | inside    | undecided                           |
    | outside, against it       | –         | contradicted                        |

    low, high: the interval of our difference, its ends inside.  published: in the same units and the same order of the
    two systems.  A published 0 has no direction: an interval without zero contradicts it.
    Raises ValueError where a number is not finite or low > high.  Questions that would decide: `questions_to_decide`.
    """
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(published) and low <= high):
        raise ValueError(f"expected finite low <= high and published; got {low}, {high} and {published}")
    published_inside = low <= published <= high
    if low <= 0 <= high:
        return "undecided" if published_inside else "not seen"
    if published == 0 or (published > 0) != (low > 0):  # both ends have one sign
        return "contradicted"
    if published_inside:
        return "reproduced"
    nearest = min(abs(low), abs(high))
    return "same direction, " + ("larger" if nearest > abs(published) else "smaller")


def questions_to_decide(differences: Values, published: float, confidence: float = 0.95) -> int:
    """How many questions it takes until the interval of the difference can't hold both zero and a published difference.

    The smallest n with z s / sqrt(n) < |published| / 2, z the normal quantile of the confidence (1.96), s the standard
    deviation of the questions' differences, supposed to stay what it is.

    differences: (n,) finite numbers, n >= 2.  published: not 0, in their units.  Raises ValueError for anything else.
    Source: the normal interval of a mean.
    """
    if not (math.isfinite(published) and published != 0 and 0 < confidence < 1):
        raise ValueError(f"expected published, not 0, and 0 < confidence < 1; got {published} and {confidence}")
    differences, _ = _pair(differences, np.zeros(len(differences)))
    deviation = float(np.std(differences, ddof=1))
    width = 2 * float(stats.norm.ppf((1 + confidence) / 2)) * deviation
    return max(2, math.floor((width / published) ** 2) + 1)


def _pair(a: Values, b: Values) -> tuple[np.ndarray, np.ndarray]:
    """The values of each question, (n,), of several seeds their mean, rounded."""
    a, b = (values.mean(axis=1) if values.ndim == 2 else values for values in paired(a, b, "a", "b"))
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(f"a and b must have one value a question, for the same 2 or more; got {a.shape} and {b.shape}")
    for name, values in (("a", a), ("b", b)):
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise ValueError(f"{name} must be finite; value {wrong[0]} is {values[wrong[0]]}")
    return np.round(a, DECIMALS), np.round(b, DECIMALS)


def _interval(gaps: Sequence[np.ndarray], resamples: int, confidence: float, seed: int) -> tuple[float, float]:
    """Percentile bootstrap of the mean over all questions, each target's questions drawn among themselves."""
    generator = np.random.default_rng(seed)
    n, sums = sum(len(gap) for gap in gaps), np.zeros(resamples)
    for gap in gaps:
        step = max(1, MEMORY // len(gap))
        for start in range(0, resamples, step):
            count = min(step, resamples - start)
            draws = generator.integers(0, len(gap), (count, len(gap)), dtype=np.int32)
            sums[start : start + count] += gap.take(draws).sum(axis=1)
    tail = 50 * (1 - confidence)
    low, high = np.round(np.percentile(sums / n, [tail, 100 - tail]), DECIMALS)
    return float(low), float(high)


def _permutation_p(gap: np.ndarray, resamples: int, seed: int) -> float:
    """P(|sum of the differences, each under a random sign| >= |their sum|)."""
    gap = gap[gap != 0]
    if not len(gap):
        return 1.0
    steps = np.rint(gap / np.abs(gap).max() * GRID).astype(np.int64)
    slack = len(steps)  # rounding moved either sum by half of it at most
    exact = _exact_p(steps, slack)
    if exact is not None:
        return exact
    signed = _signed_sums(steps, resamples, np.random.default_rng(seed))
    extreme = int(np.sum(np.abs(signed) >= abs(int(steps.sum())) - slack))
    return (extreme + 1) / (resamples + 1)


def _signed_sums(steps: np.ndarray, resamples: int, generator: np.random.Generator) -> np.ndarray:
    """Sums under random signs, (resamples,): a random byte signs eight differences, whose 256 sums are looked up."""
    eights = np.pad(steps, (0, -len(steps) % 8)).reshape(-1, 8)
    signs = 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64) - 1  # (256, 8)
    table = eights @ signs.T  # (n / 8, 256)
    draws = generator.integers(0, 256, (resamples, len(table)), dtype=np.uint8)
    return np.take_along_axis(table.T, draws, axis=0).sum(axis=1)


def _exact_p(steps: np.ndarray, slack: int = 0) -> float | None:
    """The same, exactly, of whole numbers: every sum that signs can reach, with its chance; None where these are many.

    The first sign stands for both, since the sums of the other are their mirror image.
    """
    sizes = np.sort(np.abs(steps))
    sums, chance = sizes[:1], np.ones(1)
    for size in sizes[1:]:
        both = np.concatenate([sums - size, sums + size])
        order = both.argsort(kind="stable")
        both = both[order]
        starts = np.flatnonzero(np.diff(both, prepend=both[0] - 1))
        sums, chance = both[starts], np.add.reduceat(np.tile(chance / 2, 2)[order], starts)
        if len(sums) > REACHABLE:
            return None
    return min(1.0, float(chance[np.abs(sums) >= abs(int(steps.sum())) - slack].sum()))


def _signed_rank(gap: np.ndarray) -> tuple[float, float, float]:
    """The Wilcoxon statistic, its p value, and the rank-biserial correlation."""
    if not gap.any():
        return 0.0, 1.0, 0.0
    rank = stats.rankdata(np.abs(gap))  # Pratt: zeros take the lowest ranks, which then count for neither side
    plus, minus = float(rank[gap > 0].sum()), float(rank[gap < 0].sum())
    effect = (plus - minus) / (plus + minus)
    signed = np.rint(2 * rank * np.sign(gap)).astype(np.int64)[gap != 0]  # twice a rank is whole, of ties too
    p = _exact_p(signed) if len(signed) <= EXACT_RANKS else None
    if p is None:
        p = float(stats.wilcoxon(gap, zero_method="pratt", alternative="two-sided", method="asymptotic").pvalue)
    return min(plus, minus), p, effect


def _spearman(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan, math.nan
    result = stats.spearmanr(a, b)
    return float(result.statistic), float(result.pvalue)
