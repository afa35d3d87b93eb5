"""Losses of a student that learns from several teachers' probabilities, each sample from its own; knows no model.

Every loss is the mean over the batch of a sum over teachers, and returns a NamedTuple of scalars: the `total` to
minimise, and its named parts to log. D(a, b) = (a - b)². Who votes for what, and every weight, carries no gradient.
Equations 3 and 7 to 25 have no formulas left in the text of the paper that we have: the prose around them is followed.
What it does not settle (a drawn vote, no teacher on the label's side, the weights' form) is ours, or Zhang et al.'s.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from as2lib.losses.distillation import Distillation, Total, raise_precision

# b pairs in a batch · n teachers
CLAMP = 1e-6  # a teacher that is certain and wrong has a finite cross entropy


class Vote(NamedTuple):
    total: Tensor
    no_majority: Tensor  # share of samples where all teachers counted, since the vote was drawn
    followed: Tensor  # mean number of teachers that counted


class Agreement(NamedTuple):
    total: Tensor
    no_teacher: Tensor  # share of samples where only the label taught
    followed: Tensor  # mean number of teachers on the label's side


def mean_ensemble(student: Tensor, teachers: Tensor) -> Total:
    """Distillation of the teachers' mean.

    total = D(f_s, mean_i f_i)

    student: (b,) probabilities that a candidate is correct.  teachers: (b, n) those of n >= 1 teachers.
    Raises ValueError for other shapes, as every loss here.
    Source: GOVERN, section 3.1.1, the prose of eq. 3.  The majority alone: `govern`.
    """
    student, teachers = _read(student, teachers)
    return Total((student - teachers.mean(dim=1)).square().mean())


def govern(student: Tensor, teachers: Tensor) -> Vote:
    """Each teacher votes for up or down, seen from the student; those in the majority teach, and no label is needed.

    o_i = sign(f_i - f_s),  V = sign(sum_i o_i),  total = mean of D(f_s, f_i) over the teachers with o_i = V;
    over all teachers where V = 0

    Arguments as in `mean_ensemble`.
    Source: GOVERN, section 3.1.1, the prose of eq. 7-15; that all teach where the vote is drawn is ours.
    With labels: `govern_ca`.
    """
    student, teachers = _read(student, teachers)
    orientation = _orientation(student, teachers)  # (b, n)
    verdict = orientation.sum(dim=1, keepdim=True).sign()  # (b, 1)
    follow = ((orientation == verdict) | (verdict == 0)).to(student.dtype)
    followed = follow.sum(dim=1)  # (b,), at least 1
    loss = (follow * _distance(student, teachers)).sum(dim=1) / followed
    return Vote(loss.mean(), (verdict == 0).to(student.dtype).mean(), followed.mean())


def govern_ca(student: Tensor, teachers: Tensor, labels: Tensor) -> Agreement:
    """The teachers that pull the student to the label's side teach, the more confident ones more.

    S = {i : o_i = sign(y - f_s)},  total = sum over S of w_i * D(f_s, f_i);  D(f_s, y) where S is empty
    w_i = (1 - exp(CE_i) / sum over j in S of exp(CE_j)) / (|S| - 1), and 1 where |S| = 1
    CE_i: the cross entropy of f_i, clamped to [1e-6, 1 - 1e-6], against y

    student, teachers: as in `mean_ensemble`.  labels: (b,) integers, 0 or 1.
    Source: GOVERN, section 3.2, the prose of eq. 20-25, with the weights of Zhang et al. 2022; the label alone where S
    is empty is ours.  All teachers, whatever their side: `ca_mkd`.
    """
    student, teachers = _read(student, teachers)
    y = labels.to(student.dtype)
    follow = _orientation(student, teachers) == (y - student.detach()).sign().unsqueeze(1)  # (b, n)
    alone = ~follow.any(dim=1)  # (b,)
    taught = (_weights(teachers, y, follow) * _distance(student, teachers)).sum(dim=1)
    loss = torch.where(alone, (student - y).square(), taught)
    return Agreement(loss.mean(), alone.to(student.dtype).mean(), follow.sum(dim=1).to(student.dtype).mean())


def ca_mkd(student: Tensor, teachers: Tensor, labels: Tensor, weight: float = 1.0) -> Distillation:
    """Confidence-aware distillation: every teacher teaches, those nearer to the label more, and so does the label.

    total = weight * hard + soft,  soft = sum over all teachers of w_i * D(f_s, f_i),
    w_i as in `govern_ca` with S = all,  hard = the cross entropy of the student against y

    Arguments as in `govern_ca`.  weight: of the label's part; 0 gives a loss that differs from `govern_ca`
    in whom it follows alone.
    Source: Zhang et al. 2022 (GOVERN, section 3.2; its 4.4 names Du et al. 2020), without its loss on features.
    """
    student, teachers = _read(student, teachers)
    y = labels.to(student.dtype)
    soft = (_weights(teachers, y, torch.ones_like(teachers)) * _distance(student, teachers)).sum(dim=1).mean()
    hard = F.binary_cross_entropy(student, y)
    return Distillation(weight * hard + soft, hard, soft)


def teacher_a_head(heads: Tensor, teachers: Tensor) -> Total:
    """Each head from a teacher of its own, without labels: `mean_ensemble` of that one, summed over heads.

    heads, teachers: (b, k) probabilities.
    """
    return Total(heads.shape[1] * mean_ensemble(heads.flatten(), teachers.reshape(-1, 1)).total)


def govern_a_head(heads: Tensor, teachers: Tensor) -> Vote:
    """Each head from the vote of all teachers but its own: `govern`, summed over heads.

    Heads start as copies of each other: with one vote for all they would stay so.
    heads, teachers: (b, k) probabilities, k >= 2.
    """
    k = teachers.shape[1]
    others = [[i for i in range(k) if i != head] for head in range(k)]  # k lists of k - 1 teachers
    vote = govern(heads.flatten(), teachers[:, others].flatten(0, 1))
    return vote._replace(total=k * vote.total)


def _orientation(student: Tensor, teachers: Tensor) -> Tensor:
    """Where each teacher pulls the student: up 1, down -1, nowhere 0; (b, n)."""
    return (teachers - student.detach().unsqueeze(1)).sign()


def _distance(student: Tensor, teachers: Tensor) -> Tensor:
    return (student.unsqueeze(1) - teachers).square()  # (b, n)


def _weights(teachers: Tensor, y: Tensor, follow: Tensor) -> Tensor:
    """The confidence weights (b, n) within the teachers that `follow` marks; 0 for the others."""
    right = torch.where(y.unsqueeze(1) == 1, teachers, 1 - teachers).clamp(CLAMP, 1 - CLAMP)
    cost = follow / right  # exp(CE_i) = 1 / P(label)
    among = follow.sum(dim=1, keepdim=True)
    share = 1 - cost / cost.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.where(among == 1, 1.0, share / (among - 1).clamp(min=1)) * follow


def _read(student: Tensor, teachers: Tensor) -> tuple[Tensor, Tensor]:
    """Both in float32 or wider; the teachers without gradient."""
    if student.ndim != 1 or teachers.ndim != 2 or len(student) != len(teachers) or not teachers.shape[1]:
        raise ValueError(f"expected (b,) and (b, n) probabilities; got {(*student.shape,)} and {(*teachers.shape,)}")
    return raise_precision(student), raise_precision(teachers.detach())
