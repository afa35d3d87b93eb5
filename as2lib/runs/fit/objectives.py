"""The losses that a run's spec can name, each as a function of what a model returned and of its targets."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from as2lib import imported
from as2lib.losses import distillation, govern, listwise, multi_teacher
from as2lib.models.rank_rnn import by_question

# b pairs in a batch · k teachers, or heads · c = 2 classes
TARGETS = ("labels", "teacher_logits")  # what a batch holds beside the model's inputs
Objective = Callable[[Any, Mapping[str, Tensor], int], NamedTuple]


def objective(spec: dict[str, Any]) -> Objective:
    """The loss that a spec names, as a function of (model output, targets, step counted from 0).

    targets: `labels` (b,) where the pairs have them and, with teachers, `teacher_logits` (b, k, c).
    A loss of one's own is named by its import path, and called as `loss(output, targets, **settings)`; it returns a
    scalar, or a NamedTuple of scalars with `total`.
    Returns a NamedTuple with `total`.  Raises ValueError for a loss that is not known.
    """
    if imported.is_path(spec["loss"]):
        own, settings = imported.load(spec["loss"]), spec.get("settings", {})
        return lambda output, targets, step: _with_total(own(output, targets, **settings))
    if spec["loss"] not in OBJECTIVES:
        raise ValueError(
            f"loss: expected one of {', '.join(OBJECTIVES)}, or package.module:function; got {spec['loss']!r}"
        )
    loss = OBJECTIVES[spec["loss"]]
    balance = {name: spec[name] for name in ("alpha", "tau") if name in spec}
    return lambda output, targets, step: loss(output, targets, step, **balance)


class Total(NamedTuple):
    total: Tensor


def _with_total(loss: Any) -> NamedTuple:
    return Total(loss) if isinstance(loss, Tensor) else loss


def probability(logits: Tensor) -> Tensor:
    """P(class 1) of (…, c = 2) logits, in float32."""
    return torch.sigmoid(_margin(logits.float()))


def _margin(logits: Tensor) -> Tensor:
    return logits[..., 1] - logits[..., 0]


def _ce(output, targets, step):
    return distillation.cross_entropy(output.logits, targets["labels"])


def _kd(output, targets, step, **balance):
    return distillation.kd(output.logits, targets["teacher_logits"][:, 0], targets["labels"], **balance)


def _kd_sum(output, targets, step, **balance):
    return multi_teacher.kd_sum(output.logits, targets["teacher_logits"], targets["labels"], **balance)


def _kd_round_robin(output, targets, step, **balance):
    teacher = multi_teacher.round_robin(step, targets["teacher_logits"])
    return distillation.kd(output.logits, teacher, targets["labels"], **balance)


def _ce_per_head(output, targets, step):
    return distillation.cross_entropy_per_head(output.head_logits, targets["labels"])


def _per_head(output, targets, step, **balance):
    return distillation.per_head(output.head_logits, targets["teacher_logits"], targets["labels"], **balance)


def _bce(output, targets, step):
    return listwise.bce(_margin(output.logits), targets["labels"])


def _listwise_kl(output, targets, step):
    scores, mask = by_question(_margin(output.logits), output.candidates)  # (q, n)
    return listwise.listwise_kl(scores, by_question(targets["labels"], output.candidates)[0], mask)


def _without_labels(loss: Callable[..., NamedTuple]) -> Objective:
    return lambda output, targets, step: loss(probability(output.logits), probability(targets["teacher_logits"]))


def _with_labels(loss: Callable[..., NamedTuple]) -> Objective:
    return lambda output, targets, step: loss(
        probability(output.logits), probability(targets["teacher_logits"]), targets["labels"]
    )


def _teacher_a_head(output, targets, step):
    """Each head from a teacher of its own, without labels: summed over heads."""
    heads, teachers = probability(output.head_logits), probability(targets["teacher_logits"])  # (b, k)
    loss = govern.mean_ensemble(heads.flatten(), teachers.reshape(-1, 1))
    return loss._replace(total=heads.shape[1] * loss.total)


def _govern_a_head(output, targets, step):
    """Each head from the vote of all teachers but its own, summed over heads.

    Heads start as copies of each other: with one vote for all they would stay so.
    """
    heads, teachers = probability(output.head_logits), probability(targets["teacher_logits"])  # (b, k)
    k = heads.shape[1]
    others = torch.tensor([[i for i in range(k) if i != head] for head in range(k)], device=heads.device)  # (k, k - 1)
    loss = govern.govern(heads.flatten(), teachers[:, others].flatten(0, 1))
    return loss._replace(total=k * loss.total)


OBJECTIVES: dict[str, Callable[..., NamedTuple]] = {
    "ce": _ce,
    "kd": _kd,
    "kd_sum": _kd_sum,
    "kd_round_robin": _kd_round_robin,
    "ce_per_head": _ce_per_head,
    "per_head": _per_head,
    "bce": _bce,
    "listwise_kl": _listwise_kl,
    "mean_ensemble": _without_labels(govern.mean_ensemble),
    "govern": _without_labels(govern.govern),
    "govern_ca": _with_labels(govern.govern_ca),
    "ca_mkd": _with_labels(govern.ca_mkd),
    "ca_mkd_without_ce": _with_labels(partial(govern.ca_mkd, weight=0.0)),
    "teacher_a_head": _teacher_a_head,
    "govern_a_head": _govern_a_head,
}
