"""The losses that a run's spec can name, each as a function of what a model returned and of its targets."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from as2lib.losses import distillation, govern, listwise, multi_teacher
from as2lib.models.rank_rnn import by_question

# b pairs in a batch · k teachers · c = 2 classes
TARGETS = ("labels", "teacher_logits")  # what a batch holds beside the model's inputs
Objective = Callable[[Any, Mapping[str, Tensor], int], NamedTuple]


def objective(spec: dict[str, Any]) -> Objective:
    """The loss that a spec names, as a function of (model output, targets, step counted from 0).

    targets: `labels` (b,) where the pairs have them and, with teachers, `teacher_logits` (b, k, c).
    Returns a NamedTuple with `total`.
    Raises ValueError for a loss that is not known.
    """
    balance = {name: spec[name] for name in ("alpha", "tau") if name in spec}

    def ce(output, targets, step):
        return distillation.cross_entropy(output.logits, targets["labels"])

    def kd(output, targets, step):
        return distillation.kd(output.logits, targets["teacher_logits"][:, 0], targets["labels"], **balance)

    def kd_sum(output, targets, step):
        return multi_teacher.kd_sum(output.logits, targets["teacher_logits"], targets["labels"], **balance)

    def kd_round_robin(output, targets, step):
        teacher = multi_teacher.round_robin(step, targets["teacher_logits"])
        return distillation.kd(output.logits, teacher, targets["labels"], **balance)

    def ce_per_head(output, targets, step):
        return distillation.cross_entropy_per_head(output.head_logits, targets["labels"])

    def per_head(output, targets, step):
        return distillation.per_head(output.head_logits, targets["teacher_logits"], targets["labels"], **balance)

    def bce(output, targets, step):
        return listwise.bce(output.logits[:, 1] - output.logits[:, 0], targets["labels"])

    def listwise_kl(output, targets, step):
        scores, mask = by_question(output.logits[:, 1] - output.logits[:, 0], output.candidates)  # (q, n)
        return listwise.listwise_kl(scores, by_question(targets["labels"], output.candidates)[0], mask)

    known = (ce, kd, kd_sum, kd_round_robin, ce_per_head, per_head, bce, listwise_kl)
    by_name = {loss.__name__: loss for loss in known} | VOTES
    if spec["loss"] not in by_name:
        raise ValueError(f"loss: expected one of {', '.join(by_name)}, got {spec['loss']!r}")
    return by_name[spec["loss"]]


def probability(logits: Tensor) -> Tensor:
    """P(correct) of (…, c = 2) logits, in float32.  Of arrays, in float64: `score.probability`."""
    wide = logits.float()
    return torch.sigmoid(wide[..., 1] - wide[..., 0])


def _mean_ensemble(output, targets, step):
    return govern.mean_ensemble(probability(output.logits), probability(targets["teacher_logits"]))


def _govern(output, targets, step):
    return govern.govern(probability(output.logits), probability(targets["teacher_logits"]))


def _govern_ca(output, targets, step):
    return govern.govern_ca(probability(output.logits), probability(targets["teacher_logits"]), targets["labels"])


def _ca_mkd(output, targets, step):
    return govern.ca_mkd(probability(output.logits), probability(targets["teacher_logits"]), targets["labels"])


def _teacher_a_head(output, targets, step):
    """Each head from a teacher of its own, without labels: summed over heads."""
    heads, teachers = (probability(values) for values in (output.head_logits, targets["teacher_logits"]))  # (b, k)
    loss = govern.mean_ensemble(heads.flatten(), teachers.reshape(-1, 1))
    return loss._replace(total=heads.shape[1] * loss.total)


def _govern_a_head(output, targets, step):
    """Each head from the vote of all teachers but its own, summed over heads.

    Heads start as copies of each other: with one vote for all they would stay so.
    """
    heads, teachers = (probability(values) for values in (output.head_logits, targets["teacher_logits"]))  # (b, k)
    k = heads.shape[1]
    others = torch.tensor([[i for i in range(k) if i != head] for head in range(k)], device=heads.device)  # (k, k - 1)
    loss = govern.govern(heads.flatten(), teachers[:, others].flatten(0, 1))
    return loss._replace(total=k * loss.total)


VOTES: dict[str, Objective] = {
    "mean_ensemble": _mean_ensemble,
    "govern": _govern,
    "govern_ca": _govern_ca,
    "ca_mkd": _ca_mkd,
    "teacher_a_head": _teacher_a_head,
    "govern_a_head": _govern_a_head,
}
