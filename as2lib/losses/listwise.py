"""Losses over a question's candidates: functions of scores; knows no model.

q questions · n candidates of the longest list · b pairs
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Listwise(NamedTuple):
    """total: a scalar."""

    total: Tensor


def listwise_kl(scores: Tensor, labels: Tensor, mask: Tensor) -> Listwise:
    """KL divergence from a question's normalised labels to the softmax of its candidates' scores.

    total = mean over questions of KL(labels / sum(labels) ‖ softmax(scores)), over the candidates under the mask

    scores: (q, n) floats.  labels: (q, n), 0 or 1.  mask: (q, n), true at candidates; what else is there is ignored.
    A question without a correct candidate contributes nothing and is not counted; without any other the total is 0.
    Raises ValueError where the shapes differ.
    Source: Cosinet, section 4.2, after Bian et al. 2017.  One pair at a time: `bce`.
    """
    if not scores.shape == labels.shape == mask.shape or scores.dim() != 2:
        got = ", ".join(str(tuple(one.shape)) for one in (scores, labels, mask))
        raise ValueError(f"expected scores, labels and mask of one shape (q, n), got {got}")
    mask = mask.bool()
    correct = labels.to(scores.dtype).masked_fill(~mask, 0.0)
    count = correct.sum(dim=1, keepdim=True)  # (q, 1)
    target = correct / count.clamp(min=1.0)
    log_probability = scores.masked_fill(~mask, -torch.inf).log_softmax(dim=1).masked_fill(~mask, 0.0)  # (q, n)
    divergence = (torch.special.xlogy(target, target) - target * log_probability).sum(dim=1)  # (q,)
    answered = count.squeeze(1) > 0
    return Listwise(divergence.masked_fill(~answered, 0.0).sum() / answered.sum().clamp(min=1))


def bce(scores: Tensor, labels: Tensor) -> Listwise:
    """Binary cross entropy of each pair by itself.

    total = −mean over pairs of log σ(score) where the label is 1, log σ(−score) where it is 0

    scores: (b,) floats.  labels: (b,), 0 or 1.
    Raises ValueError where the shapes differ.
    Source: Cosinet, section 5.4.  A question's candidates together: `listwise_kl`.
    """
    if scores.shape != labels.shape:
        got = f"{tuple(scores.shape)}, {tuple(labels.shape)}"
        raise ValueError(f"expected scores and labels of one shape (b,), got {got}")
    return Listwise(functional.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype)))
