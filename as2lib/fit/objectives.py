"""The losses by their names, each as a function of a model's output, a batch's targets and the step; knows no model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from as2lib import plugins
from as2lib.losses import distillation, govern, listwise, multi_teacher, pairwise
from as2lib.models.logits import logits_of, part_of
from as2lib.models.rank_rnn import by_question

# b pairs in a batch · q questions · n candidates of the longest list · k teachers, or heads · c = 2 classes
Targets = Mapping[str, Tensor]
Objective = Callable[[Any, Targets, int], NamedTuple]
LARGEST = 1e18
NONE, ONE, SEVERAL = "no teacher", "one teacher", "one teacher or more"


@dataclass(frozen=True)
class Loss:
    """A loss that a fit can ask for by its name.

    function: (output, targets, step, …) → NamedTuple with `total`.  teachers: how many it learns from.
    labels: whether it reads them.  unit: what stays together in a batch, "pair" or "question".
    balanced: whether it takes alpha, the weight of the labels, and tau, the temperature.
    heads: whether a model learns by it with a head for each teacher.
    """

    function: Callable[..., NamedTuple]
    teachers: str = NONE
    labels: bool = True
    unit: str = "pair"
    balanced: bool = False
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
    Raises ValueError for a name that is not known.
    """
    if callable(loss) or plugins.is_path(loss):
        function = loss if callable(loss) else plugins.load(loss)
        if isinstance(function, nn.CrossEntropyLoss):  # torch's losses read logits and labels
            return lambda output, targets, step: Total(function(logits_of(output), targets["labels"]))
        if (getattr(function, "__module__", None) or "").startswith("torch."):
            expected = "expected a function of a model's output and the targets, or torch.nn.CrossEntropyLoss()"
            raise ValueError(f"loss: {expected}, got torch's {function}; call it in a function of your own")
        return lambda output, targets, step: _with_total(function(output, targets, **(settings or {})))
    known = named(loss)
    if settings:
        raise ValueError(f"settings: expected none with the loss {loss!r}, got {', '.join(settings)}")
    balance = {"alpha": alpha, "tau": tau} if known.balanced else {}
    return partial(known.function, **balance)


def named(loss: Any) -> Loss:
    """The loss of a name.  Raises ValueError for one that is not known."""
    if not isinstance(loss, str) or loss not in LOSSES:
        raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, or package.module:function; got {loss!r}")
    return LOSSES[loss]


def unit(loss: str | Callable[..., Any]) -> str:
    """What stays together in a batch: "pair" or "question"; pairs of a loss of one's own."""
    return LOSSES[loss].unit if isinstance(loss, str) and loss in LOSSES else "pair"


def heads(loss: str | Callable[..., Any]) -> bool:
    """Whether a model learns by a loss with a head for each teacher; not by one of one's own."""
    return isinstance(loss, str) and loss in LOSSES and LOSSES[loss].heads


def check(loss: str | Callable[..., Any], teachers: int, labels: Sequence[int] | None) -> None:
    """Raises ValueError where a loss is not known, can't learn from so many teachers, or from these labels.

    labels: of the pairs; None: they have none.
    """
    if callable(loss) or plugins.is_path(loss):
        return
    known = named(loss)
    fits = {NONE: teachers == 0, ONE: teachers == 1, SEVERAL: teachers >= 1}
    if not fits[known.teachers]:
        raise ValueError(f"loss {loss}: expected {known.teachers}, got {teachers}")
    if known.labels and labels is None:
        raise ValueError(f"loss {loss}: expected pairs with labels, got none")
    if known.labels and len(set(labels)) == 1:
        raise ValueError(f"loss {loss}: expected correct and incorrect candidates, got the label {labels[0]} alone")


def _with_total(loss: Any) -> NamedTuple:
    if isinstance(loss, Tensor):
        return Total(loss)
    if not hasattr(loss, "total"):
        raise ValueError(f"loss: expected a scalar tensor, or a NamedTuple with `total`; got {type(loss).__name__}")
    return loss


# ---------------------------------------------------------------- what losses read


def _heads(output: Any) -> Tensor:
    if (heads := part_of(output, "head_logits")) is None:
        raise ValueError("expected a model with heads (MHSForSequenceClassification), got one without head_logits")
    return heads  # (b, k, c)


def _margin(logits: Tensor) -> Tensor:
    """The log odds of class 1, in float32; finite where a logit is not, whose square is finite too."""
    wide = logits.float().clamp(-LARGEST, LARGEST)
    return wide[..., 1] - wide[..., 0]


def _probability(logits: Tensor) -> Tensor:
    return torch.sigmoid(_margin(logits))


def _lists(values: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
    return by_question(values, targets["candidates"])  # (q, n), and the mask


# ---------------------------------------------------------------- from labels


def _ce(output, targets, step):
    return distillation.cross_entropy(logits_of(output), targets["labels"])


def _ce_per_head(output, targets, step):
    return distillation.cross_entropy_per_head(_heads(output), targets["labels"])


def _bce(output, targets, step):
    return listwise.bce(_margin(logits_of(output)), targets["labels"])


def _listwise_kl(output, targets, step):
    scores, mask = _lists(_margin(logits_of(output)), targets)
    return listwise.listwise_kl(scores, _lists(targets["labels"], targets)[0], mask)


def _ranknet(output, targets, step):
    scores, mask = _lists(_margin(logits_of(output)), targets)
    return pairwise.ranknet(scores, _lists(targets["labels"], targets)[0], mask)


# ---------------------------------------------------------------- from teachers


def _kd(output, targets, step, **balance):
    return distillation.kd(logits_of(output), targets["teacher_logits"][:, 0], targets["labels"], **balance)


def _kd_sum(output, targets, step, **balance):
    return multi_teacher.kd_sum(logits_of(output), targets["teacher_logits"], targets["labels"], **balance)


def _kd_round_robin(output, targets, step, **balance):
    teacher = multi_teacher.round_robin(step, targets["teacher_logits"])
    return distillation.kd(logits_of(output), teacher, targets["labels"], **balance)


def _per_head(output, targets, step, **balance):
    return distillation.per_head(_heads(output), targets["teacher_logits"], targets["labels"], **balance)


def _margin_mse(output, targets, step):
    scores, mask = _lists(_margin(logits_of(output)), targets)
    teacher, _ = _lists(_margin(targets["teacher_logits"]).mean(dim=1), targets)  # several: their mean log odds
    return pairwise.margin_mse(scores, teacher, _lists(targets["labels"], targets)[0], mask)


# ---------------------------------------------------------------- GOVERN


def _without_labels(loss: Callable[..., NamedTuple]) -> Objective:
    return lambda output, targets, step: loss(_probability(logits_of(output)), _probability(targets["teacher_logits"]))


def _with_labels(loss: Callable[..., NamedTuple]) -> Objective:
    return lambda output, targets, step: loss(
        _probability(logits_of(output)), _probability(targets["teacher_logits"]), targets["labels"]
    )


def _teacher_a_head(output, targets, step):
    """Each head from a teacher of its own, without labels: summed over heads."""
    heads, teachers = _probability(_heads(output)), _probability(targets["teacher_logits"])  # (b, k)
    loss = govern.mean_ensemble(heads.flatten(), teachers.reshape(-1, 1))
    return loss._replace(total=heads.shape[1] * loss.total)


def _govern_a_head(output, targets, step):
    """Each head from the vote of all teachers but its own, summed over heads.

    Heads start as copies of each other: with one vote for all they would stay so.
    """
    heads, teachers = _probability(_heads(output)), _probability(targets["teacher_logits"])  # (b, k)
    k = heads.shape[1]
    others = torch.tensor([[i for i in range(k) if i != head] for head in range(k)], device=heads.device)  # (k, k - 1)
    loss = govern.govern(heads.flatten(), teachers[:, others].flatten(0, 1))
    return loss._replace(total=k * loss.total)


LOSSES: dict[str, Loss] = {
    "ce": Loss(_ce),
    "ce_per_head": Loss(_ce_per_head),
    "bce": Loss(_bce),
    "listwise_kl": Loss(_listwise_kl, unit="question"),
    "ranknet": Loss(_ranknet, unit="question"),
    "kd": Loss(_kd, ONE, balanced=True),
    "kd_sum": Loss(_kd_sum, SEVERAL, balanced=True),
    "kd_round_robin": Loss(_kd_round_robin, SEVERAL, balanced=True),
    "per_head": Loss(_per_head, SEVERAL, balanced=True, heads=True),
    "margin_mse": Loss(_margin_mse, SEVERAL, unit="question"),
    "mean_ensemble": Loss(_without_labels(govern.mean_ensemble), SEVERAL, labels=False),
    "govern": Loss(_without_labels(govern.govern), SEVERAL, labels=False),
    "govern_ca": Loss(_with_labels(govern.govern_ca), SEVERAL),
    "ca_mkd": Loss(_with_labels(govern.ca_mkd), SEVERAL),
    "ca_mkd_without_ce": Loss(_with_labels(partial(govern.ca_mkd, weight=0.0)), SEVERAL),
    "teacher_a_head": Loss(_teacher_a_head, SEVERAL, labels=False, heads=True),
    "govern_a_head": Loss(_govern_a_head, SEVERAL, labels=False, heads=True),
}
