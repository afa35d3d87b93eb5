"""What pruning does to a ranking, replayed from the scores of every exit; knows no model, loss or data set.

An exit's score of a candidate does not depend on the other candidates, so what a cascade does at any drop ratio follows
from the scores that each exit gives to every candidate. The same holds for independent models in sequence.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy
import pandas

from as2lib.metrics.cost import cascade_cost
from as2lib.metrics.pruning import Ratios, prune, staying
from as2lib.metrics.questions import Questions
from as2lib.metrics.ranking import Values, encode_ids

# n rows (question and candidate) · e exits · v values of the ratio


class Replay(NamedTuple):
    """position: (n,) place in the final order of its question, from 0.  last: (n,) the last exit that scored it."""

    position: numpy.ndarray
    last: numpy.ndarray


def replay(question_id: Values, label: Values, exit_scores: numpy.ndarray, alpha: Ratios) -> Replay:
    """The order in which a cascade puts each question's candidates, from the scores of every exit.

    Where an exit gives equal scores, the incorrect candidates stay longer and stand first, as everywhere in `metrics`;
    a ranker in service, which knows no labels, keeps the order of its candidates.
    question_id: (n,) any ids.  label: (n,) 0 or 1.  exit_scores: (n, e), higher is better.  alpha: see `drop_ratios`.
    Minus `position` is what metrics take as a score: scores of different exits do not compare.
    """
    scores, question, order = _read(question_id, label, exit_scores)
    ordered = scores[order]
    pruned = prune(lambda stage, rows: ordered[rows, stage], scores.shape[1], question[order], alpha)
    position, last = numpy.empty_like(order), numpy.empty_like(order)
    position[order[pruned.order]] = Questions.together(question[order[pruned.order]]).place
    last[order] = pruned.last
    return Replay(position, last)


def grid(
    question_id: Values,
    label: Values,
    exit_scores: numpy.ndarray,
    depth: int,
    exits: Sequence[int],
    ratios: Sequence[float],
) -> pandas.DataFrame:
    """P@1 and cost of every combination of drop ratios, over the questions with a correct candidate.

    With v ratios and e exits these are v^(e−1) combinations, a tree: what the first exits leave is shared.
    Returns columns `alpha_1` …, `P@1` in [0, 1] and `cost` (of `cascade_cost`), in the order of `itertools.product`.
    Ties and errors as in `replay`.
    Source: Cascade Transformer, section 5.5 and Figure 2.
    """
    scores, question, order = _read(question_id, label, exit_scores)
    correct = numpy.asarray(label)
    answered = (numpy.bincount(question, weights=correct) > 0)[question]
    orders = [order[numpy.lexsort((-column, question[order]))] for column in scores[order].T]
    first: list[float] = []

    def descend(left: numpy.ndarray, stage: int) -> None:
        ranked = orders[stage][left[orders[stage]]]
        if stage == len(exits) - 1:
            tops = ranked[Questions.together(question[ranked]).starts]
            first.append(float(correct[tops].mean()))
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
    return table


def _read(
    question_id: Values, label: Values, exit_scores: numpy.ndarray
) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Scores (n, e), the number of each row's question (n,), and the rows with each question's incorrect ones first."""
    scores = numpy.asarray(exit_scores, dtype=numpy.float64)
    question = encode_ids(numpy.asarray(question_id))[1]
    return scores, question, numpy.lexsort((numpy.asarray(label), question))
