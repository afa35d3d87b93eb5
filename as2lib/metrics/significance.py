"""Whether two systems differ on the same questions, or are equal; knows arrays of per-question values and no metric."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from as2lib.metrics.ranking import Values, paired

DECIMALS = 12  # values are rounded to these: in a mean over seeds, 1e-17 must not turn a tie into a difference
MEMORY = 2**22  # resampled values held at once

Table = pd.DataFrame | np.ndarray


@dataclass(frozen=True)
class Comparison:
    """What `compare` found of systems a and b; positive differences and effects speak for a."""

    n: int
    mean_a: float
    mean_b: float
    difference: float  # mean_a - mean_b
    low: float  # bootstrap interval of the difference
    high: float
    wins: int  # questions where a is better, b is better, and neither
    losses: int
    ties: int
    wilcoxon: float
    wilcoxon_p: float
    effect: float  # matched-pairs rank-biserial correlation, in [-1, 1]
    spearman: float
    spearman_p: float
    equivalence_p: float  # small: the difference lies within the margin


def compare(
    a: Values, b: Values, margin: float = 0.02, resamples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> Comparison:
    """Paired comparison of two systems' values on the same questions; with several seeds pass each question's mean.

    difference = mean(a) - mean(b)
    wilcoxon: signed-rank test, two-sided, zeros ranked but not counted (Pratt); p = 1 where all differences are zero
    effect = (R+ - R-) / (R+ + R-) over the same ranks, 0 where all differences are zero
    low, high: percentile bootstrap over questions;  spearman: nan where a or b is constant or n < 3
    equivalence_p: two one-sided paired t tests of |difference| < margin

    a, b: (n,) finite numbers, n >= 2; two Series are paired by their index, in any order, anything else by position.
    Raises ValueError where lengths or indexes differ, a value is not finite, or a parameter is out of its range.
    Source: the tests named under CERBERUS Table 2 (Wilcoxon, Spearman); Pratt 1959; Kerby 2014; Schuirmann 1987.
    Many comparisons at once: `holm`.
    """
    if not (margin > 0 and 0 < confidence < 1 and resamples >= 1):
        came = f"margin {margin}, confidence {confidence}, resamples {resamples}"
        raise ValueError(f"expected margin > 0, 0 < confidence < 1 and resamples >= 1; got {came}")
    a, b = _pair(a, b)
    gap = np.round(a - b, DECIMALS)
    constant = np.ptp(gap) == 0  # no variance: the difference is known
    spearman = (np.nan, np.nan) if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0 else stats.spearmanr(a, b)
    found = (  # as the fields of Comparison follow each other
        *(a.mean(), b.mean(), gap.mean()),
        *((gap.mean(), gap.mean()) if constant else _interval(gap, resamples, confidence, seed)),
        *(int(np.sum(sign)) for sign in (gap > 0, gap < 0, gap == 0)),
        *_signed_rank(gap),
        *spearman,
        abs(gap[0]) >= margin if constant else ttost_paired(a, b, -margin, margin)[0],
    )
    return Comparison(len(gap), *(value if isinstance(value, int) else float(value) for value in found))


def interval_over_seeds(
    a: Table, b: Table, resamples: int = 2000, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of mean(a) - mean(b) over questions and seeds, both drawn anew each time.

    A seed is drawn for a and b together: seed i of a student learns from seed i of its teachers.  A system with one
    column, which no seed changes, stands against every seed of the other.  With few seeds it is still too narrow.

    a, b: (q, s) or (q, 1) finite numbers, q >= 2, a column a seed; two frames are paired by index, else by position.
    Raises ValueError where the shapes do not fit, a value is not finite, or a parameter is out of its range.
    Source: the bootstrap with two crossed factors (Owen 2007).  Over questions alone: `compare`.
    """
    if not (0 < confidence < 1 and resamples >= 1):
        raise ValueError(f"expected 0 < confidence < 1 and resamples >= 1; got {confidence} and {resamples}")
    gap = _gap_by_seed(a, b)
    q, s = gap.shape
    draws = _kept_draws if q * resamples <= MEMORY else _draws
    means = [((questions @ gap) * seeds).sum(axis=1) / (q * s) for questions, seeds in draws(q, s, resamples, seed)]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(np.concatenate(means), [tail, 100 - tail])
    return float(low), float(high)


def _draws(q: int, s: int, resamples: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """How often each question, (n, q), and each seed, (n, s), is drawn in n samples: parts of all the resamples."""
    generator, step = np.random.default_rng(seed), max(1, MEMORY // q)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        questions, seeds = (generator.multinomial(n, np.full(n, 1 / n), size=count) for n in (q, s))
        yield questions, seeds


@lru_cache(maxsize=2)  # drawing costs more than all else, and many comparisons on one test set draw the same
def _kept_draws(*asked: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(_draws(*asked))


def smallest_effect(a: Values, b: Values, alpha: float = 0.01, power: float = 0.8) -> float:
    """The true difference that a two-sided paired test at `alpha` finds with probability `power`, on these questions.

    (z(1 - alpha / 2) + z(power)) * s / sqrt(n),  s the sample standard deviation of the n paired differences

    a, b: as in `compare`, and its errors.  alpha, power: in (0, 1), not corrected for other tests.
    Source: Cohen 1988, the normal approximation; Wilcoxon's test on normal differences needs 2.3 % more.
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError(f"expected alpha and power in (0, 1); got {alpha} and {power}")
    a, b = _pair(a, b)
    return smallest_shown(float(np.std(a - b, ddof=1)) / len(a) ** 0.5, alpha, power)


def smallest_shown(error: float, alpha: float = 0.01, power: float = 0.8) -> float:
    """`smallest_effect` from the standard error of a difference."""
    return float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power)) * error


def holm(p_values: Values) -> np.ndarray:
    """Holm's adjusted p values, in the order given; a nan stays nan and is not counted as a test.

    p_values: (t,) numbers in [0, 1] or nan.  Returns (t,) float64.
    Raises ValueError where a value lies outside [0, 1].
    Source: Holm 1979; as `statsmodels.stats.multitest.multipletests`, which collects garbage at each call.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if ((p < 0) | (p > 1)).any():
        raise ValueError(f"p_values must lie in [0, 1]; got {p}")
    adjusted, known = np.full(len(p), np.nan), ~np.isnan(p)
    order = np.flatnonzero(known)[np.argsort(p[known])]
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)).clip(max=1)
    return adjusted


def _pair(a: Values, b: Values) -> tuple[np.ndarray, np.ndarray]:
    a, b = (np.round(values, DECIMALS) for values in paired(a, b, "a", "b"))
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(f"a and b must have one value a question, for the same 2 or more; got {a.shape} and {b.shape}")
    for name, values in (("a", a), ("b", b)):
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise ValueError(f"{name} must be finite; value {wrong[0]} is {values[wrong[0]]}")
    return a, b


def _gap_by_seed(a: Table, b: Table) -> np.ndarray:
    """a - b, (q, s), the questions paired."""
    a, b = paired(a, b, "a", "b")
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or len(a) < 2 or len({a.shape[1], b.shape[1]} - {1}) > 1:
        raise ValueError(f"a and b must be (q, s) or (q, 1), q >= 2; got {a.shape} and {b.shape}")
    if not np.isfinite(a - b).all():
        raise ValueError("a and b must be finite")
    return a - b


def _signed_rank(gap: np.ndarray) -> tuple[float, float, float]:
    """The Wilcoxon statistic, its p value, and the rank-biserial correlation."""
    if not gap.any():
        return 0.0, 1.0, 0.0
    test = stats.wilcoxon(gap, zero_method="pratt", alternative="two-sided")
    rank = stats.rankdata(np.abs(gap))  # Pratt: zeros take the lowest ranks, which then count for neither side
    plus, minus = rank[gap > 0].sum(), rank[gap < 0].sum()
    return test.statistic, test.pvalue, (plus - minus) / (plus + minus)


def _interval(gap: np.ndarray, resamples: int, confidence: float, seed: int) -> tuple[float, float]:
    drawn = {"n_resamples": resamples, "batch": max(1, MEMORY // len(gap)), "rng": np.random.default_rng(seed)}
    found = stats.bootstrap((gap,), np.mean, confidence_level=confidence, method="percentile", **drawn)
    return tuple(found.confidence_interval)
