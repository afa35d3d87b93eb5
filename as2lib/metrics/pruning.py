"""The rule by which a cascade drops candidates, stage by stage; knows neither what scores them nor what that costs.

Each stage but the last scores the m candidates of a question that are left and drops floor(alpha · m) of them, the
lowest; among equal scores the later rows fall first.
Source: Cascade Transformer, sections 3.2 and 4.3.2.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy

from as2lib.metrics.questions import Questions

# n candidates of all questions · q questions · e stages
Ratios: TypeAlias = float | Sequence[float]  # the share that each stage but the last drops: a number, or one for each


class Pruned(NamedTuple):
    """scores: (n,) float64, the last that each got: not comparable across stages.  last: (n,) the stage that gave it.

    order: (n,) the rows by question, in each its survivors by their last score, then the dropped, those dropped later
    first; equal scores keep the order of the rows.
    """

    scores: numpy.ndarray
    last: numpy.ndarray
    order: numpy.ndarray


def prune(
    score: Callable[[int, numpy.ndarray], numpy.ndarray], stages: int, question: numpy.ndarray, alpha: Ratios
) -> Pruned:
    """Ranks the candidates of each question by stages that each see only what those before have left.

    score: called as `score(stage, rows)` for each stage in turn, with the rows that are left, ascending; returns their
    scores.  question: (n,) codes from 0 to q − 1.  alpha: as `drop_ratios` takes it, and its errors.
    """
    rows, scores, last = numpy.arange(len(question)), numpy.zeros(len(question)), numpy.zeros(len(question), int)
    for stage, ratio in enumerate([*drop_ratios(alpha, stages), 0.0]):
        scores[rows], last[rows] = score(stage, rows), stage
        ranked = rows[numpy.lexsort((-scores[rows], question[rows]))]
        rows = numpy.sort(staying(ranked, question, ratio))
    return Pruned(scores, last, numpy.lexsort((-scores, -last, question)))


def falling(scores: numpy.ndarray, order: numpy.ndarray) -> numpy.ndarray:
    """The scores (n,), none above the one before it in `order` (n,): a sigmoid errs in its last digit."""
    result = numpy.array(scores, dtype=numpy.float64)
    result[order] = numpy.minimum.accumulate(result[order])
    return result


def staying(ranked: numpy.ndarray, question: numpy.ndarray, ratio: float) -> numpy.ndarray:
    """Of rows that stand by question, the best of each first, those that a stage leaves, in that order."""
    rows = Questions.together(question[ranked])
    return ranked[rows.place < (rows.sizes - dropped(rows.sizes, ratio))[rows.code]]


def survivors(exits: int, alpha: Ratios, candidates: int | Sequence[int] | None = None) -> list[numpy.ndarray]:
    """How many of a question's candidates (or of several questions') each stage scores; without them, which share.

    128 at alpha 0.3 with five exits: 128, 90, 63, 45, 32.  Raises ValueError as `drop_ratios`.
    """
    left = [numpy.asarray(1.0 if candidates is None else candidates)]
    for ratio in drop_ratios(alpha, exits):
        left.append(left[-1] * (1 - ratio) if candidates is None else left[-1] - dropped(left[-1], ratio))
    return left


def dropped(candidates: int | numpy.ndarray, ratio: float) -> numpy.ndarray:
    """floor(ratio · m) of m candidates, never all; a product that rounding left just below a whole number counts."""
    product = numpy.floor(numpy.multiply(ratio, candidates) + 1e-9)  # 0.29 · 100 is a little less than 29
    return numpy.minimum(numpy.subtract(candidates, 1), product.astype(int))


def drop_ratios(alpha: Ratios, exits: int) -> list[float]:
    """One ratio for each exit but the last.  Raises ValueError for more or fewer, or one outside [0, 1)."""
    ratios = [float(alpha)] * (exits - 1) if isinstance(alpha, int | float) else [float(ratio) for ratio in alpha]
    if len(ratios) != exits - 1 or not all(0 <= ratio < 1 for ratio in ratios):
        raise ValueError(f"alpha: expected a share in [0, 1), or {exits - 1}, one an exit but the last; got {alpha}")
    return ratios
