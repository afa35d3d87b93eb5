"""What a ranker that drops candidates on the way says of each: one order, and scores that fall along it.

n candidates · m of a question
"""

from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from as2lib.metrics.probability import sigmoid
from as2lib.metrics.pruning import Pruned, falling

GAP = 1e-6  # between the lowest score that was kept and the highest that was dropped


class Ranking(NamedTuple):
    """One question's candidates, ranked; but for `order` in input order.

    order: (m,) int64, the candidates' positions: survivors first, then the dropped, those dropped later first.
    scores: (m,) float64, which fall along `order`, the sigmoid of `log_odds`: see `falling_scores`.
    stages: (m,) int64, the last stage that scored each candidate.  stage_scores: (m,) float64, its P(correct).
    """

    order: Tensor
    scores: Tensor
    stages: Tensor
    stage_scores: Tensor
    log_odds: Tensor


def rankings(pruned: Pruned, question: numpy.ndarray) -> list[Ranking]:
    """Of the log odds that stages gave, each question's ranking.  question: (n,) codes from 0."""
    shifted, ranked = falling_scores(pruned.scores, pruned.last, question), []
    for number in range(question.max() + 1):
        rows = numpy.flatnonzero(question == number)
        order = numpy.searchsorted(rows, pruned.order[question[pruned.order] == number])
        scores = falling(sigmoid(shifted[rows]), order)
        columns = order, scores, pruned.last[rows], sigmoid(pruned.scores[rows]), shifted[rows]
        ranked.append(Ranking(*map(torch.from_numpy, columns)))
    return ranked


def falling_scores(scores: numpy.ndarray, stages: numpy.ndarray, question: numpy.ndarray) -> numpy.ndarray:
    """One score a candidate, (n,) float64, by which a cascade's candidates stand in its order.

    Survivors keep the last stage's score. The candidates that a stage dropped keep their order and their distances,
    and are shifted together, as far as it takes, below the lowest score of those that it kept.  Probabilities are
    shifted as log odds, so that they stay between 0 and 1.
    scores: (n,) of the last stage that saw a candidate.  stages: (n,) its number.  question: (n,) codes from 0.
    """
    shifted = scores.copy()
    lowest = numpy.full(question.max() + 1, numpy.inf)  # (q,), of the stages behind
    for stage in numpy.unique(stages)[::-1]:
        rows = numpy.flatnonzero(stages == stage)
        highest = numpy.full(len(lowest), -numpy.inf)
        numpy.maximum.at(highest, question[rows], scores[rows])
        ceiling = lowest - GAP * numpy.maximum(1.0, numpy.abs(numpy.where(numpy.isinf(lowest), 0.0, lowest)))
        shift = numpy.minimum(0.0, ceiling[question[rows]] - highest[question[rows]])
        shifted[rows] = numpy.minimum(scores[rows] + shift, ceiling[question[rows]])
        numpy.minimum.at(lowest, question[rows], shifted[rows])
    return shifted
