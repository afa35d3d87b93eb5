"""Losses over a question's candidates: functions of scores; knows no model."""

import torch
from torch import Tensor
from torch.nn import functional

from as2lib.losses.distillation import Total, raise_precision

# q questions · n candidates of the longest list · b pairs


def listwise_kl(scores: Tensor, labels: Tensor, mask: Tensor) -> Total:
    """KL divergence from a question's normalised labels to the softmax of its candidates' scores.

    total = mean over questions of KL(labels / sum(labels) ‖ softmax(scores)), over the candidates under the mask

    scores: (q, n) floats.  labels: (q, n), 0 or 1.  mask: (q, n), true at candidates; what else is there is ignored.
    A question without a correct candidate contributes nothing and is not counted; without any other the total is 0.
    Source: Cosinet, section 4.2, after Bian et al. 2017.  One pair at a time: `bce`; pairs of candidates: `ranknet`.
    """
    scores, correct = read_lists(scores, labels, mask)
    count = correct.sum(dim=1, keepdim=True)  # (q, 1)
    target = correct.to(scores.dtype) / count.clamp(min=1)
    lowest = torch.finfo(scores.dtype).min  # not -inf, whose softmax over an empty list has no gradient
    log_probability = scores.masked_fill(~mask.bool(), lowest).log_softmax(dim=1)  # (q, n)
    terms = torch.special.xlogy(target, target) - target * log_probability
    divergence = terms.masked_fill(~correct, 0.0).sum(dim=1)  # (q,): 0 log 0 = 0
    return Total(divergence.sum() / (count > 0).sum().clamp(min=1))


def bce(scores: Tensor, labels: Tensor) -> Total:
    """Binary cross entropy of each pair by itself.

    total = −mean over pairs of log σ(score) where the label is 1, log σ(−score) where it is 0

    scores: (b,) floats.  labels: (b,), 0 or 1.
    Source: Cosinet, section 5.4.  A question's candidates together: `listwise_kl`.
    """
    scores = raise_precision(scores)
    return Total(functional.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype)))


def read_lists(scores: Tensor, labels: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The scores in float32 or wider, 0 beyond the mask, and which candidates are correct: (q, n) each."""
    return raise_precision(scores).masked_fill(~mask.bool(), 0.0), (labels == 1) & mask.bool()
