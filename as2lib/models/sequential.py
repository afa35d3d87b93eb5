"""Rankers that drop candidates on the way: the rule of `metrics.pruning` over any scoring functions.

Letters: n candidates · m of them left · e stages.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from as2lib.metrics.pruning import Ratios, prune

Questions = Tensor | Sequence[int] | None


class Ranking(NamedTuple):
    """One question's candidates, ranked.

    order: (n,) int64, the candidates' positions in the order of `pruning.Pruned`.  scores: (n,) float64 in input order,
    each from the last stage that saw the candidate: not comparable across stages.
    survivors: how many candidates each stage scored.
    """

    order: Tensor
    scores: Tensor
    survivors: tuple[int, ...]


def rank_by_stages(
    score: Callable[[int, Tensor], Tensor],
    stages: int,
    candidates: int,
    alpha: Ratios,
    question_index: Questions = None,
) -> Ranking | list[Ranking]:
    """Rank by stages that each see only what those before have left.

    score: called as `score(stage, rows)` for each stage in turn, with the rows that are left (m,) int64, ascending;
    returns their scores (m,).  alpha: share that is dropped, a number or one for each stage but the last.
    question_index: (n,) which question a candidate belongs to; each question is pruned on its own.
    Returns a `Ranking`; with `question_index` a list of them, a question each in first-seen order, whose positions
    count the question's own candidates.
    Raises ValueError for no candidates, an alpha outside [0, 1), or an index of another length.
    """
    if candidates < 1:
        raise ValueError("expected at least one candidate, got none")
    index = numpy.zeros(candidates) if question_index is None else numpy.asarray(torch.as_tensor(question_index).cpu())
    if len(index) != candidates:
        raise ValueError(f"question_index: expected one for each of {candidates} candidates, got {len(index)}")

    def checked(stage: int, rows: numpy.ndarray) -> numpy.ndarray:
        found = score(stage, torch.from_numpy(rows))
        if found.shape != rows.shape or not found.isfinite().all():
            came = f"got {tuple(found.shape)}"
            raise ValueError(f"stage {stage}: expected {len(rows)} finite scores, one a candidate, {came}")
        return found.double().cpu().numpy()

    _, first, question = numpy.unique(index, return_index=True, return_inverse=True)
    question = first.argsort().argsort()[question]  # numbered in first-seen order
    pruned, rankings = prune(checked, stages, question, alpha), []
    for name in range(question.max() + 1):
        own = numpy.flatnonzero(question == name)
        order = numpy.searchsorted(own, pruned.order[question[pruned.order] == name])
        reached = tuple(int((pruned.last[own] >= stage).sum()) for stage in range(stages))
        rankings.append(Ranking(torch.from_numpy(order), torch.from_numpy(pruned.scores[own]), reached))
    return rankings[0] if question_index is None else rankings


class SequentialReranker:
    """The same policy over independent scorers, from the cheapest to the dearest: a lexical ranker first, MHS last.

    scorers: functions that take candidates and return a score each (a tensor, an array or a list), higher is better.
    Source: Cascade Transformer, section 3.2.  One encoder that shares its layers: `CascadeTransformer`.
    """

    def __init__(self, scorers: Sequence[Callable[[Any], Any]]):
        if not scorers:
            raise ValueError("scorers: expected at least one, got none")
        self.scorers = list(scorers)

    def rank(self, batch: Any, alpha: Ratios, question_index: Questions = None) -> Ranking | list[Ranking]:
        """Rank candidates; each scorer is called once, with what those before it have left.

        batch: a mapping of columns (tensors, arrays or lists), a `datasets.Dataset`, or a list of candidates; the
        scorers get the same kind of thing.  The rest, results and errors, is as in `rank_by_stages`.
        """

        def score(stage: int, rows: Tensor) -> Tensor:
            found = self.scorers[stage](_select(batch, rows))
            return found if isinstance(found, Tensor) else torch.from_numpy(numpy.asarray(found))

        count = len(next(iter(batch.values()), ())) if isinstance(batch, Mapping) else len(batch)
        return rank_by_stages(score, len(self.scorers), count, alpha, question_index)


def _select(batch: Any, rows: Tensor) -> Any:
    if isinstance(batch, Mapping):
        return {name: _select(values, rows) for name, values in batch.items()}
    if isinstance(batch, Tensor):
        return batch[rows.to(batch.device)]
    if hasattr(batch, "select"):
        return batch.select(rows.tolist())
    return batch[rows.numpy()] if hasattr(batch, "dtype") else [batch[row] for row in rows.tolist()]
