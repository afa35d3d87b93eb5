"""The rule by which a cascade drops candidates, stage by stage; knows neither what scores them nor what that costs.

Each stage but the last scores the m candidates of a question that are left and drops floor(alpha · m) of them, the
lowest; among equal scores the later rows fall first.
An exit's score of a candidate does not depend on the other candidates, so what a cascade does at any drop ratio follows
from the scores that each exit gives to every candidate: `replay`. The same holds for independent models in sequence.
Source: Cascade Transformer, sections 3.2 and 4.3.2.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy

from as2lib.metrics.questions import Questions
from as2lib.metrics.ranking import Values, encode_ids

# n candidates of all questions · q questions · e stages, or exits
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


def replay(
    question_id: Values, label: Values, exit_scores: numpy.ndarray, alpha: Ratios
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The order in which a cascade puts each question's candidates, from the scores of every exit.

    Where an exit gives equal scores, the incorrect candidates stay longer and stand first, as everywhere in `metrics`;
    a ranker in service, which knows no labels, keeps the order of its candidates.
    question_id: (n,) any ids.  label: (n,) 0 or 1.  exit_scores: (n, e), higher is better.  alpha: see `drop_ratios`.
    Returns the place of each candidate in the final order of its question, from 0, and the last exit that scored it,
    both (n,).  Minus the place is what metrics take as a score: scores of different exits do not compare.
    """
    question = encode_ids(question_id)[1]
    order = numpy.lexsort((label, question))  # the incorrect candidates of a question first
    scores = numpy.asarray(exit_scores, dtype=numpy.float64)[order]
    pruned = prune(lambda stage, rows: scores[rows, stage], scores.shape[1], question[order], alpha)
    position, last = numpy.empty_like(order), numpy.empty_like(order)
    position[order[pruned.order]] = Questions.together(question[order[pruned.order]]).place
    last[order] = pruned.last
    return position, last
