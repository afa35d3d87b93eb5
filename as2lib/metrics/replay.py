"""What pruning does to a ranking, replayed from the scores of every exit; knows no model, loss or data set.

An exit's score of a candidate does not depend on the other candidates, so what `rank` does at any drop ratio follows
from the scores that each exit gives to every candidate. The same holds for independent models in sequence.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy
import pandas

from as2lib.metrics.cost import cascade_cost
from as2lib.metrics.pruning import Ratios, places, prune, staying
from as2lib.metrics.ranking import encode_ids

# n rows (question and candidate) · e exits · v values of the ratio


class Replay(NamedTuple):
    """position: (n,) place in the final order of its question, from 0.  last: (n,) the last exit that scored it."""

    position: numpy.ndarray
    last: numpy.ndarray


def replay(question_id: Sequence, exit_scores: numpy.ndarray, alpha: Ratios) -> Replay:
    """The order in which `rank` puts each question's candidates, from the scores of every exit.

    question_id: (n,) any ids, the rows of a question in the order of its candidates.  exit_scores: (n, e), higher is
    better.  alpha: the drop ratio, a number or one for each exit but the last.
    Minus `position` is what metrics take as a score: scores of different exits do not compare.
    Raises ValueError where there is not one row of scores an id, or for an alpha that is no ratio.
    """
    scores, question = _read(question_id, exit_scores)
    pruned = prune(lambda stage, rows: scores[rows, stage], scores.shape[1], question, alpha)
    position = numpy.empty_like(pruned.order)
    position[pruned.order] = places(question[pruned.order])
    return Replay(position, pruned.last)


def grid(
    question_id: Sequence,
    label: Sequence,
    exit_scores: numpy.ndarray,
    depth: int,
    exits: Sequence[int],
    ratios: Sequence[float],
) -> pandas.DataFrame:
    """P@1 and cost of every combination of drop ratios, over the questions with a correct candidate.

    With v ratios and e exits these are v^(e−1) combinations, a tree: what the first exits leave is shared.
    Returns columns `alpha_1` …, `P@1` in [0, 1], `cost` (of `cascade_cost`), and `front` (no other combination has as
    high a P@1 at the same or a lower cost; the first of equals counts), in the order of `itertools.product`.
    Source: Cascade Transformer, section 5.5 and Figure 2.
    """
    scores, question = _read(question_id, exit_scores)
    if len(exits) != scores.shape[1]:
        raise ValueError(f"exits: expected one for each of {scores.shape[1]} columns of scores, got {len(exits)}")
    correct = numpy.asarray(label)
    answered = (numpy.bincount(question, weights=correct) > 0)[question]
    orders = [numpy.lexsort((-column, question)) for column in scores.T]
    first: list[float] = []

    def descend(left: numpy.ndarray, stage: int) -> None:
        ranked = orders[stage][left[orders[stage]]]
        if stage == len(exits) - 1:
            first.append(float(correct[ranked[places(question[ranked]) == 0]].mean()))
            return
        for ratio in ratios:
            stay = numpy.zeros_like(left)
            stay[staying(ranked, question, ratio)] = True
            descend(stay, stage + 1)

    descend(answered, 0)
    points = list(product(ratios, repeat=len(exits) - 1))
    table = pandas.DataFrame(points, columns=[f"alpha_{i}" for i in range(1, len(exits))])
    table["P@1"] = first
    table["cost"] = [cascade_cost(depth, exits, point) for point in points]
    return table.assign(front=_front(table["cost"].to_numpy(), table["P@1"].to_numpy()))


def choose(points: pandas.DataFrame, budget: float) -> pandas.Series:
    """The row of `grid` with the highest P@1 whose cost is within the budget; among equals the cheapest, the first.

    Raises ValueError where no row is within the budget.
    """
    within = points[points["cost"] <= budget + 1e-12]
    if within.empty:
        raise ValueError(f"budget: the cheapest combination costs {points['cost'].min():.3f}, more than {budget:g}")
    return within.sort_values(["P@1", "cost"], ascending=[False, True], kind="stable").iloc[0]


def _front(cost: numpy.ndarray, value: numpy.ndarray) -> numpy.ndarray:
    """Which points no other beats: a higher value at the same or a lower cost, or the same value at a lower cost."""
    order = numpy.lexsort((-value, cost))
    best_before = numpy.append(-numpy.inf, numpy.maximum.accumulate(value[order])[:-1])
    front = numpy.zeros(len(cost), dtype=bool)
    front[order] = value[order] > best_before
    return front


def _read(question_id: Sequence, exit_scores: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    scores, ids = numpy.asarray(exit_scores, dtype=numpy.float64), numpy.asarray(question_id)
    if scores.ndim != 2 or len(scores) != len(ids) or not len(ids) or numpy.isnan(scores).any():
        raise ValueError(f"exit_scores: expected numbers, ({len(ids)}, exits) of them, got shape {scores.shape}")
    return scores, encode_ids(ids)[1]
