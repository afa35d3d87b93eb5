"""Losses over pairs of a question's candidates, one correct and one not: functions of scores; knows no model.

Every loss is the mean over all such pairs in the batch, so that a question counts by how many it has. A batch without
one gives 0, whose gradient is 0.
"""

from typing import NamedTuple

from torch import Tensor
from torch.nn import functional

from as2lib.losses.listwise import read_lists

# q questions · n candidates of the longest list


class Pairwise(NamedTuple):
    """total: a scalar.  pairs: how many pairs of candidates it is the mean of."""

    total: Tensor
    pairs: Tensor


def ranknet(scores: Tensor, labels: Tensor, mask: Tensor) -> Pairwise:
    """The logistic loss of each correct candidate against each incorrect one of its question.

    total = mean over pairs (i correct, j incorrect) of −log σ(score_i − score_j)

    scores: (q, n) floats.  labels: (q, n), 0 or 1.  mask: (q, n), true at candidates; what else is there is ignored.
    Returns `total` and `pairs`.
    Source: Burges et al. 2005.  From a teacher's scores: `margin_mse`; a question's whole list: `listwise.listwise_kl`.
    """
    scores, correct = read_lists(scores, labels, mask)
    return _mean(functional.softplus(-_margins(scores)), correct, ~correct & mask.bool())


def margin_mse(scores: Tensor, teacher_scores: Tensor, labels: Tensor, mask: Tensor) -> Pairwise:
    """Distillation of a teacher's margins: the squared difference of margins, of each pair as in `ranknet`.

    total = mean over pairs (i correct, j incorrect) of ((score_i − score_j) − (teacher_i − teacher_j))²

    scores, teacher_scores: (q, n) floats, on any scale, as long as it is one.  labels, mask: as in `ranknet`.
    Returns `total` and `pairs`; the teacher gets no gradient.
    Source: Hofstätter et al. 2020.
    """
    teacher_scores, _ = read_lists(teacher_scores.detach(), labels, mask)
    scores, correct = read_lists(scores, labels, mask)
    return _mean((_margins(scores) - _margins(teacher_scores)).square(), correct, ~correct & mask.bool())


def _margins(scores: Tensor) -> Tensor:
    return scores.unsqueeze(2) - scores.unsqueeze(1)  # (q, n, n): row i minus column j


def _mean(loss: Tensor, correct: Tensor, incorrect: Tensor) -> Pairwise:
    pairs = correct.unsqueeze(2) & incorrect.unsqueeze(1)  # (q, n, n)
    count = pairs.sum()
    return Pairwise(loss.masked_fill(~pairs, 0.0).sum() / count.clamp(min=1), count)
