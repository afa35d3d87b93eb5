"""Losses of a student that learns from labels and from one teacher, or one a head; knows tensors and no model.

Every loss is the mean over the batch and the sum over heads, and returns a NamedTuple: the scalar `total` to minimise,
and its named parts to log. Half-precision logits are raised to float32 first; teachers get no gradient.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

# b pairs in a batch · k heads, and as many teachers · c = 2 classes


class Total(NamedTuple):
    """A loss without named parts; `total` is a scalar."""

    total: Tensor


class Supervised(NamedTuple):
    """A loss from labels alone; `hard` is a scalar, or (k,) of a student with heads."""

    total: Tensor
    hard: Tensor


class Distillation(NamedTuple):
    """A loss from labels and teachers; `hard` and `soft` are scalars, or (k,) of a student with heads."""

    total: Tensor
    hard: Tensor
    soft: Tensor


def cross_entropy(logits: Tensor, labels: Tensor) -> Supervised:
    """The hard loss alone, for training without a teacher.

    total = hard = -log softmax(logits)[label]

    logits: (b, c) floats, unnormalised.  labels: (b,) integer class ids.
    Returns `total` and `hard`, each a scalar, mean over the batch.
    Source: L_H of CERBERUS eq. 1.  With a teacher: `kd`.
    """
    hard = F.cross_entropy(raise_precision(logits), labels.long())
    return Supervised(hard, hard)


def cross_entropy_per_head(head_logits: Tensor, labels: Tensor) -> Supervised:
    """The hard loss of every head, for a student with heads and without teachers.

    total = sum over heads of hard_i,  hard_i = -log softmax(head_i)[label]

    head_logits: (b, k, c) floats, unnormalised.  labels: (b,) integer class ids.
    Returns `total`, a scalar, and `hard` of shape (k,), mean over the batch.
    Source: the row without a teacher of CERBERUS Table 3.  With teachers: `per_head`.
    """
    hard = _hard(raise_precision(head_logits), labels)
    return Supervised(hard.sum(), hard)


def kd(student_logits: Tensor, teacher_logits: Tensor, labels: Tensor, alpha: float, tau: float) -> Distillation:
    """Hinton's distillation loss for one student and one teacher.

    total = alpha * hard + (1 - alpha) * tau² * soft,  soft = KL(softmax(teacher / tau) ‖ softmax(student / tau))

    student_logits, teacher_logits: (b, c) floats, unnormalised.  labels: (b,) integer class ids.
    Returns `total`, `hard`, `soft`, each a scalar, mean over the batch; `soft` without its factor tau².
    Source: CERBERUS eq. 1-3 (Hinton et al. 2015).  One teacher per head: `per_head`.
    """
    total, hard, soft = per_head(student_logits.unsqueeze(1), teacher_logits.unsqueeze(1), labels, alpha, tau)
    return Distillation(total, hard.squeeze(0), soft.squeeze(0))


def per_head(head_logits: Tensor, teacher_logits: Tensor, labels: Tensor, alpha: float, tau: float) -> Distillation:
    """Distillation of one teacher into each head: head i learns from teacher i, all from the labels.

    total = sum over i of alpha * hard_i + (1 - alpha) * tau² * soft_i,  hard_i and soft_i as in `kd`

    head_logits, teacher_logits: (b, k, c) floats, unnormalised.  labels: (b,) integer class ids.
    Returns `total`, a scalar, and `hard`, `soft` of shape (k,), mean over the batch.
    Raises ValueError where there is not a teacher a head.
    Source: CERBERUS eq. 4, with every lambda 1.  One student without heads: `kd`.
    """
    if head_logits.shape != teacher_logits.shape:
        raise ValueError(f"expected a teacher a head; got {(*head_logits.shape,)} and {(*teacher_logits.shape,)}")
    student, teacher = raise_precision(head_logits), raise_precision(teacher_logits.detach())
    hard = _hard(student, labels)
    soft = _divergence(F.log_softmax(teacher / tau, dim=-1), F.log_softmax(student / tau, dim=-1)).mean(dim=0)
    # tau² keeps the soft gradients' size whatever the temperature
    weighted = ((alpha, hard), ((1 - alpha) * tau**2, soft))
    parts = [weight * part for weight, part in weighted if weight]  # an infinite part of weight 0 counts nothing
    return Distillation(torch.stack(parts).sum(dim=0).sum(), hard, soft)


def _divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """KL(p ‖ q) over the last dimension; a class with p = 0, whose logit is -inf, adds 0 log 0 = 0."""
    p = log_p.exp()
    return (p * (log_p - log_q).masked_fill(p == 0, 0.0)).sum(dim=-1)


def _hard(logits: Tensor, labels: Tensor) -> Tensor:
    """The cross entropy of each head, (k,), from (b, k, c) logits."""
    every_head = labels.long().unsqueeze(1).expand(logits.shape[:2])  # (b, k)
    return F.cross_entropy(logits.transpose(1, 2), every_head, reduction="none").mean(dim=0)


def raise_precision(values: Tensor) -> Tensor:
    """The same values in float32, or wider where they are."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
