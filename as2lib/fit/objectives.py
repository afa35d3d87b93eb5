"""The losses by their names, each registered at the function that reads a batch for it; knows no model.

Importing this brings in no torch: a wrong name is refused, and a study planned, at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from as2lib import losses, plugins

if TYPE_CHECKING:
    from torch import Tensor

# b pairs in a batch · q questions · n candidates of the longest list · k teachers, or heads · c = 2 classes
Targets = Mapping[str, "Tensor"]
Objective = Callable[[Any, Targets, int], NamedTuple]
LARGEST = 1e18  # logit: its square is finite
NONE, ONE, SEVERAL = "no teacher", "one teacher", "one teacher or more"


@dataclass(frozen=True)
class Batch:
    """What losses read: a model's output, a batch's targets (see `objective`), and the step."""

    output: Any
    targets: Targets
    step: int

    @property
    def logits(self) -> "Tensor":  # (b, c)
        from as2lib.models.logits import logits_of

        return logits_of(self.output)

    @property
    def heads(self) -> "Tensor":  # (b, k, c)
        from as2lib.models.logits import part_of

        if (heads := part_of(self.output, "head_logits")) is None:
            raise ValueError("expected a model with heads (MHSForSequenceClassification), got one without head_logits")
        return heads

    @property
    def labels(self) -> "Tensor":  # (b,)
        return self.targets["labels"]

    @property
    def teachers(self) -> "Tensor":  # (b, k, c)
        return self.targets["teacher_logits"]

    @property
    def probabilities(self) -> "tuple[Tensor, Tensor]":
        """P(correct) of the student, (b,), and of its teachers, (b, k)."""
        return probability(self.logits), probability(self.teachers)

    @property
    def lists(self) -> "dict[str, Tensor]":
        """The student's `scores`, the `labels` and the `mask` of candidates, (q, n) each, a row a question."""
        labels, mask = self.by_question(self.labels)
        return {"scores": self.by_question(margin(self.logits))[0], "labels": labels, "mask": mask}

    def by_question(self, values: "Tensor") -> "tuple[Tensor, Tensor]":
        """Values of pairs, (b,), as a row a question, (q, n), and the mask of its candidates."""
        from as2lib.models.rank_rnn import by_question

        return by_question(values, self.targets["candidates"])


@dataclass(frozen=True)
class Loss:
    """A loss that a fit can ask for by its name.

    function: (batch, …) → NamedTuple with `total`.  teachers: from how many it learns.
    balanced: whether alpha, the labels' weight, and tau balance labels and teachers.  labels: whether it reads them.
    unit: what stays together in a batch, "pair" or "question".
    heads: whether a model learns by it with a head for each teacher.
    """

    function: Callable[..., NamedTuple]
    teachers: str = NONE
    balanced: bool = False
    labels: bool = True
    unit: str = "pair"
    heads: bool = False

    def takes(self, teachers: int) -> bool:
        """Whether it learns from so many teachers."""
        return {NONE: teachers == 0, ONE: teachers == 1, SEVERAL: teachers >= 1}[self.teachers]


LOSSES: dict[str, Loss] = {}


def loss(name: str, **facts: Any) -> Callable[[Callable], Callable]:
    """Register a function of a batch as the loss of that name.  facts: fields of `Loss`."""

    def register(function: Callable[..., NamedTuple]) -> Callable[..., NamedTuple]:
        LOSSES[name] = Loss(function, **facts)
        return function

    return register


class Total(NamedTuple):
    total: "Tensor"


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
    which = named(loss)
    balance = {"alpha": alpha, "tau": tau} if which.balanced else {}
    return lambda output, targets, step: which.function(Batch(output, targets, step), **balance, **(settings or {}))


def named(loss: str | Callable[..., Any]) -> Loss:
    """The loss of a name, or of one's own.  Raises ValueError for torch's losses but cross-entropy."""
    if not is_own(loss):
        return LOSSES[loss]
    from torch.nn import CrossEntropyLoss

    function = loss if callable(loss) else plugins.load(loss)
    if isinstance(function, CrossEntropyLoss):
        return Loss(lambda batch: Total(function(batch.logits, batch.labels)), labels=False)
    if (getattr(function, "__module__", None) or "").startswith("torch."):
        expected = "expected a function of a model's output and the targets, or torch.nn.CrossEntropyLoss()"
        raise ValueError(f"loss: {expected}, got torch's {function}; call it in a function of your own")

    def own(batch: Batch, **settings: Any) -> NamedTuple:
        result = function(batch.output, batch.targets, **settings)
        return result if isinstance(result, tuple) else Total(result)

    return Loss(own, labels=False)


def is_own(loss: str | Callable[..., Any]) -> bool:
    """Whether a loss is one's own, a function or its path, and no name."""
    return callable(loss) or plugins.is_path(loss)


def is_balanced(loss: str) -> bool:
    """Whether a loss has alpha and tau."""
    return loss in LOSSES and LOSSES[loss].balanced


def unit(loss: str) -> str:
    """What stays together in a loss's batches: with "question" a model learns to order candidates, no probability."""
    return LOSSES[loss].unit if loss in LOSSES else "pair"


def check(loss: str | Callable[..., Any], teachers: int) -> None:
    """Raises ValueError where a loss is not known, or can't learn from so many teachers."""
    if is_own(loss):
        named(loss)
        return
    if loss not in LOSSES:
        raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, or package.module:function; got {loss!r}")
    if not LOSSES[loss].takes(teachers):
        others = ", ".join(name for name, other in LOSSES.items() if other.takes(teachers))
        count = teachers or "none"
        raise ValueError(f"loss {loss}: expected {LOSSES[loss].teachers}, got {count}; with {count}: {others}")


def check_labels(loss: str | Callable[..., Any], labels: Sequence[int] | None) -> None:
    """Raises ValueError where a loss can't learn from these labels of the pairs.  None: they have none."""
    if named(loss).labels and (labels is None or len(set(labels)) == 1):
        labels = "none" if labels is None else f"the label {labels[0]} alone"
        raise ValueError(f"loss {loss}: expected labels, of correct and of incorrect candidates; got {labels}")


# ---------------------------------------------------------------- each loss, of a batch


def margin(logits: "Tensor") -> "Tensor":
    """The log odds of class 1, in float32; finite where a logit is not, whose square is finite too."""
    wide = logits.float().clamp(-LARGEST, LARGEST)
    return wide[..., 1] - wide[..., 0]


def probability(logits: "Tensor") -> "Tensor":
    return margin(logits).sigmoid()


@loss("ce")
def cross_entropy(batch: Batch) -> NamedTuple:
    return losses.cross_entropy(batch.logits, batch.labels)


@loss("ce_per_head")
def cross_entropy_per_head(batch: Batch) -> NamedTuple:
    return losses.cross_entropy_per_head(batch.heads, batch.labels)


@loss("bce")
def bce(batch: Batch) -> NamedTuple:
    return losses.bce(margin(batch.logits), batch.labels)


@loss("listwise_kl", unit="question")
def listwise_kl(batch: Batch) -> NamedTuple:
    return losses.listwise_kl(**batch.lists)


@loss("ranknet", unit="question")
def ranknet(batch: Batch) -> NamedTuple:
    return losses.ranknet(**batch.lists)


@loss("kd", teachers=ONE, balanced=True)
def kd(batch: Batch, alpha: float, tau: float) -> NamedTuple:
    return losses.kd(batch.logits, batch.teachers[:, 0], batch.labels, alpha, tau)


@loss("kd_sum", teachers=SEVERAL, balanced=True)
def kd_sum(batch: Batch, alpha: float, tau: float) -> NamedTuple:
    return losses.kd_sum(batch.logits, batch.teachers, batch.labels, alpha, tau)


@loss("kd_round_robin", teachers=SEVERAL, balanced=True)
def kd_round_robin(batch: Batch, alpha: float, tau: float) -> NamedTuple:
    teacher = losses.round_robin(batch.step, batch.teachers)
    return losses.kd(batch.logits, teacher, batch.labels, alpha, tau)


@loss("per_head", teachers=SEVERAL, balanced=True, heads=True)
def per_head(batch: Batch, alpha: float, tau: float) -> NamedTuple:
    return losses.per_head(batch.heads, batch.teachers, batch.labels, alpha, tau)


@loss("margin_mse", teachers=SEVERAL, unit="question")
def margin_mse(batch: Batch) -> NamedTuple:
    """Of several teachers their mean log odds."""
    teacher = margin(batch.teachers).mean(dim=1)
    return losses.margin_mse(teacher_scores=batch.by_question(teacher)[0], **batch.lists)


@loss("mean_ensemble", teachers=SEVERAL, labels=False)
def mean_ensemble(batch: Batch) -> NamedTuple:
    return losses.mean_ensemble(*batch.probabilities)


@loss("govern", teachers=SEVERAL, labels=False)
def govern(batch: Batch) -> NamedTuple:
    return losses.govern.govern(*batch.probabilities)


@loss("govern_ca", teachers=SEVERAL)
def govern_ca(batch: Batch) -> NamedTuple:
    return losses.govern_ca(*batch.probabilities, batch.labels)


@loss("ca_mkd", teachers=SEVERAL)
def ca_mkd(batch: Batch) -> NamedTuple:
    return losses.ca_mkd(*batch.probabilities, batch.labels)


@loss("ca_mkd_without_ce", teachers=SEVERAL)
def ca_mkd_without_ce(batch: Batch) -> NamedTuple:
    return losses.ca_mkd(*batch.probabilities, batch.labels, weight=0.0)


@loss("teacher_a_head", teachers=SEVERAL, labels=False, heads=True)
def teacher_a_head(batch: Batch) -> NamedTuple:
    """Each head from a teacher of its own, without labels: summed over heads."""
    heads, teachers = probability(batch.heads), probability(batch.teachers)  # (b, k)
    total = losses.mean_ensemble(heads.flatten(), teachers.reshape(-1, 1))
    return total._replace(total=heads.shape[1] * total.total)


@loss("govern_a_head", teachers=SEVERAL, labels=False, heads=True)
def govern_a_head(batch: Batch) -> NamedTuple:
    """Each head from the vote of all teachers but its own, summed over heads.

    Heads start as copies of each other: with one vote for all they would stay so.
    """
    heads, teachers = probability(batch.heads), probability(batch.teachers)  # (b, k)
    k = heads.shape[1]
    others = [[i for i in range(k) if i != head] for head in range(k)]  # k lists of k - 1 teachers
    vote = losses.govern.govern(heads.flatten(), teachers[:, others].flatten(0, 1))
    return vote._replace(total=k * vote.total)
