"""Rankers that drop candidates on the way: the rule of `metrics.pruning` over any scoring functions.

n candidates · m of them left · q questions · e stages
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy
import torch
from torch import Tensor

from as2lib.data.encode import by_length
from as2lib.metrics import questions
from as2lib.metrics.probability import sigmoid
from as2lib.metrics.pruning import Ratios, falling, prune

Questions: TypeAlias = Tensor | Sequence[int] | None
Inputs = Mapping[str, Any]  # tensors or arrays by name, a row a candidate
GAP = 1e-6  # between the lowest score that was kept and the highest that was dropped


class Ranking(NamedTuple):
    """One question's candidates, ranked; but for `order` in input order.

    order: (n,) int64, the candidates' positions: survivors first, then the dropped, those dropped later first.
    scores: (n,) float64, which fall along `order`: see `falling_scores`.  survivors: how many each stage scored.
    stages: (n,) int64, the last stage that scored each candidate.  stage_scores: (n,) float64, what that stage said.
    log_odds: (n,) float64, what the scores are the sigmoid of, where they are one.
    """

    order: Tensor
    scores: Tensor
    survivors: tuple[int, ...]
    stages: Tensor
    stage_scores: Tensor
    log_odds: Tensor | None = None

    def as_probabilities(self) -> "Ranking":
        """The same ranking, whose scores are logits here, with their sigmoid."""
        scores = falling(sigmoid(self.scores.numpy()), self.order.numpy())
        stage_scores = torch.from_numpy(sigmoid(self.stage_scores.numpy()))
        return self._replace(scores=torch.from_numpy(scores), stage_scores=stage_scores, log_odds=self.scores)


def rank_by_stages(
    score: Callable[[int, numpy.ndarray], Any],
    stages: int,
    candidates: int,
    alpha: Ratios,
    question_index: Questions = None,
) -> Ranking | list[Ranking]:
    """Rank by stages that each see only what those before have left.

    score: called as `score(stage, rows)` for each stage in turn, with the rows that are left (m,), ascending; returns
    their scores (m,).  alpha: share that is dropped, a number or one for each stage but the last.
    question_index: (n,) which question a candidate belongs to; each question is pruned on its own.
    Returns a `Ranking`; with `question_index` a list of them, a question each in first-seen order, whose positions
    count the question's own candidates.
    Raises ValueError for an alpha outside [0, 1), and a score that is no number.
    """
    index = numpy.zeros(candidates) if question_index is None else numpy.asarray(torch.as_tensor(question_index).cpu())

    def checked(stage: int, rows: numpy.ndarray) -> numpy.ndarray:
        scores = torch.as_tensor(score(stage, rows)).double().cpu().numpy()
        if not numpy.isfinite(scores).all():
            raise ValueError(f"stage {stage}: expected a number for each candidate's score")
        return scores

    question = questions.Questions.anywhere(index).code
    pruned = prune(checked, stages, question, alpha)
    shifted = falling_scores(pruned.scores, pruned.last, question)
    rankings = []
    for number in range(question.max() + 1):
        rows = numpy.flatnonzero(question == number)
        order = numpy.searchsorted(rows, pruned.order[question[pruned.order] == number])
        reached = tuple(int((pruned.last[rows] >= stage).sum()) for stage in range(stages))
        columns = [torch.from_numpy(column[rows]) for column in (shifted, pruned.last, pruned.scores)]
        rankings.append(Ranking(torch.from_numpy(order), columns[0], reached, columns[1], columns[2]))
    return rankings[0] if question_index is None else rankings


def rank_by_exits(
    batch: Inputs,
    advance: Callable[[int, Inputs], tuple[Any, Inputs]],
    exits: int,
    alpha: Ratios,
    question_index: Questions = None,
    batch_tokens: int | None = None,
) -> Ranking | list[Ranking]:
    """Rank by the exits of one encoder, which goes on with what it has computed of the candidates that are left.

    batch: what the first exit reads, name → (m, n), `attention_mask` among them.
    advance: called as `advance(exit, inputs)`; returns the log odds (m,), and what the next exit reads.
    batch_tokens: compute rows of like length together, at most so many tokens with their padding, which is on the
    right; default: all rows at once.
    Scores are probabilities.  All else is as in `rank_by_stages`.
    """
    length = numpy.asarray(torch.as_tensor(batch["attention_mask"]).sum(dim=1).cpu())
    count, groups = len(length), [(numpy.arange(len(length)), batch)]  # rows that are computed together
    if batch_tokens:
        groups = []
        for rows in by_length(length, batch_tokens):
            groups.append((rows, {name: values[rows, : length[rows].max()] for name, values in batch.items()}))

    def score(stage: int, left: numpy.ndarray) -> numpy.ndarray:
        """The log odds of the rows that are left, which an exit gives; `groups` keeps no others."""
        nonlocal groups
        stays = numpy.zeros(count, dtype=bool)
        stays[left] = True
        odds, survivors = numpy.empty(count), []
        for rows, inputs in groups:
            staying = stays[rows]
            if not staying.all():
                rows, inputs = rows[staying], {name: values[staying] for name, values in inputs.items()}
            if len(rows):
                odds[rows], following = advance(stage, inputs)
                survivors.append((rows, following))
        groups = survivors
        return odds[left]

    rankings = rank_by_stages(score, exits, count, alpha, question_index)
    if isinstance(rankings, Ranking):
        return rankings.as_probabilities()
    return [ranking.as_probabilities() for ranking in rankings]


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
