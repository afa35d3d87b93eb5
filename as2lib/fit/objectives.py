"""The losses by their names, each as a function of a model's output, a batch's targets and the step; knows no model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from as2lib import plugins
from as2lib.losses import distillation, govern, listwise, multi_teacher, names, pairwise
from as2lib.models.logits import logits_of, part_of
from as2lib.models.rank_rnn import by_question

# b pairs in a batch · q questions · n candidates of the longest list · k teachers, or heads · c = 2 classes
Targets = Mapping[str, Tensor]
Objective = Callable[[Any, Targets, int], NamedTuple]
LARGEST = 1e18


@dataclass(frozen=True)
class Batch:
    """What losses read: a model's output, a batch's targets (see `objective`), and the step."""

    output: Any
    targets: Targets
    step: int

    @property
    def logits(self) -> Tensor:  # (b, c)
        return logits_of(self.output)

    @property
    def heads(self) -> Tensor:  # (b, k, c)
        if (heads := part_of(self.output, "head_logits")) is None:
            raise ValueError("expected a model with heads (MHSForSequenceClassification), got one without head_logits")
        return heads

    @property
    def labels(self) -> Tensor:  # (b,)
        return self.targets["labels"]

    @property
    def teachers(self) -> Tensor:  # (b, k, c)
        return self.targets["teacher_logits"]

    @property
    def probabilities(self) -> tuple[Tensor, Tensor]:
        """P(correct) of the student, (b,), and of its teachers, (b, k)."""
        return probability(self.logits), probability(self.teachers)

    @property
    def lists(self) -> dict[str, Tensor]:
        """The student's `scores`, the `labels` and the `mask` of candidates, (q, n) each, a row a question."""
        candidates = self.targets["candidates"]
        labels, mask = by_question(self.labels, candidates)
        return {"scores": by_question(margin(self.logits), candidates)[0], "labels": labels, "mask": mask}


@dataclass(frozen=True)
class Loss:
    """A loss that a fit can ask for by its name; how many teachers it learns from, `losses.names` says.

    function: (batch, …) → NamedTuple with `total`.  labels: whether it reads them.
    unit: what stays together in a batch, "pair" or "question".
    heads: whether a model learns by it with a head for each teacher.
    """

    function: Callable[..., NamedTuple]
    labels: bool = True
    unit: str = "pair"
    heads: bool = False


class Total(NamedTuple):
    total: Tensor


def objective(
    loss: str | Callable[..., Any], alpha: float = 0.5, tau: float = 3.0, settings: Mapping[str, Any] | None = None
) -> Objective:
    """A loss as a function of (output, targets, step).

    loss: a name in `LOSSES`; or one's own, a function or its "package.module:function", called as
        `loss(output, targets, **settings)`, which returns a scalar, or a NamedTuple of scalars with `total`;
        or `torch.nn.CrossEntropyLoss(…)`.
    output: what the model returns: `logits` (b, c or 1), and `head_logits` (b, k, c) of one with heads.
    targets: `labels` (b,), `teacher_logits` (b, k, c) where there are teachers, `candidates` (q,): how many pairs of
        each question are in the batch, one after the other.  step: counted from 0.
    """
    function = named(loss).function
    balance = {"alpha": alpha, "tau": tau} if loss in names.BALANCED else {}
    return lambda output, targets, step: function(Batch(output, targets, step), **balance, **(settings or {}))


def named(loss: str | Callable[..., Any]) -> Loss:
    """The loss of a name, or of one's own.  Raises ValueError for torch's losses but cross-entropy."""
    if not (callable(loss) or plugins.is_path(loss)):
        return LOSSES[loss]
    function = loss if callable(loss) else plugins.load(loss)
    if isinstance(function, nn.CrossEntropyLoss):
        return Loss(lambda batch: Total(function(batch.logits, batch.labels)), labels=False)
    if (getattr(function, "__module__", None) or "").startswith("torch."):
        expected = "expected a function of a model's output and the targets, or torch.nn.CrossEntropyLoss()"
        raise ValueError(f"loss: {expected}, got torch's {function}; call it in a function of your own")

    def own(batch: Batch, **settings: Any) -> NamedTuple:
        result = function(batch.output, batch.targets, **settings)
        return Total(result) if isinstance(result, Tensor) else result

    return Loss(own, labels=False)


def check(loss: str | Callable[..., Any], teachers: int, labels: Sequence[int] | None) -> None:
    """Raises ValueError where a loss is not known, can't learn from so many teachers, or from these labels.

    labels: of the pairs; None: they have none.
    """
    if not (callable(loss) or plugins.is_path(loss)):
        names.check(loss, teachers)
    if named(loss).labels and (labels is None or len(set(labels)) == 1):
        labels = "none" if labels is None else f"the label {labels[0]} alone"
        raise ValueError(f"loss {loss}: expected labels, of correct and of incorrect candidates; got {labels}")


# ---------------------------------------------------------------- each loss, of a batch


def margin(logits: Tensor) -> Tensor:
    """The log odds of class 1, in float32; finite where a logit is not, whose square is finite too."""
    wide = logits.float().clamp(-LARGEST, LARGEST)
    return wide[..., 1] - wide[..., 0]


def probability(logits: Tensor) -> Tensor:
    return torch.sigmoid(margin(logits))


def kd_round_robin(batch: Batch, **balance: float) -> NamedTuple:
    teacher = multi_teacher.round_robin(batch.step, batch.teachers)
    return distillation.kd(batch.logits, teacher, batch.labels, **balance)


def margin_mse(batch: Batch) -> NamedTuple:
    """Of several teachers their mean log odds."""
    teacher = margin(batch.teachers).mean(dim=1)
    return pairwise.margin_mse(teacher_scores=by_question(teacher, batch.targets["candidates"])[0], **batch.lists)


def teacher_a_head(batch: Batch) -> NamedTuple:
    """Each head from a teacher of its own, without labels: summed over heads."""
    heads, teachers = probability(batch.heads), probability(batch.teachers)  # (b, k)
    loss = govern.mean_ensemble(heads.flatten(), teachers.reshape(-1, 1))
    return loss._replace(total=heads.shape[1] * loss.total)


def govern_a_head(batch: Batch) -> NamedTuple:
    """Each head from the vote of all teachers but its own, summed over heads.

    Heads start as copies of each other: with one vote for all they would stay so.
    """
    heads, teachers = probability(batch.heads), probability(batch.teachers)  # (b, k)
    k = heads.shape[1]
    others = torch.tensor([[i for i in range(k) if i != head] for head in range(k)], device=heads.device)  # (k, k - 1)
    loss = govern.govern(heads.flatten(), teachers[:, others].flatten(0, 1))
    return loss._replace(total=k * loss.total)


LOSSES: dict[str, Loss] = {
    "ce": Loss(lambda batch: distillation.cross_entropy(batch.logits, batch.labels)),
    "ce_per_head": Loss(lambda batch: distillation.cross_entropy_per_head(batch.heads, batch.labels)),
    "bce": Loss(lambda batch: listwise.bce(margin(batch.logits), batch.labels)),
    "listwise_kl": Loss(lambda batch: listwise.listwise_kl(**batch.lists), unit="question"),
    "ranknet": Loss(lambda batch: pairwise.ranknet(**batch.lists), unit="question"),
    "kd": Loss(lambda batch, **by: distillation.kd(batch.logits, batch.teachers[:, 0], batch.labels, **by)),
    "kd_sum": Loss(lambda batch, **by: multi_teacher.kd_sum(batch.logits, batch.teachers, batch.labels, **by)),
    "kd_round_robin": Loss(kd_round_robin),
    "per_head": Loss(
        lambda batch, **by: distillation.per_head(batch.heads, batch.teachers, batch.labels, **by), heads=True
    ),
    "margin_mse": Loss(margin_mse, unit="question"),
    "mean_ensemble": Loss(lambda batch: govern.mean_ensemble(*batch.probabilities), labels=False),
    "govern": Loss(lambda batch: govern.govern(*batch.probabilities), labels=False),
    "govern_ca": Loss(lambda batch: govern.govern_ca(*batch.probabilities, batch.labels)),
    "ca_mkd": Loss(lambda batch: govern.ca_mkd(*batch.probabilities, batch.labels)),
    "ca_mkd_without_ce": Loss(lambda batch: govern.ca_mkd(*batch.probabilities, batch.labels, weight=0.0)),
    "teacher_a_head": Loss(teacher_a_head, labels=False, heads=True),
    "govern_a_head": Loss(govern_a_head, labels=False, heads=True),
}
