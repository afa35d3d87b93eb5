"""The losses by their names: which function of `as2lib.losses`, and what of a batch it reads; knows no model.

Importing this brings in no torch: a wrong name is refused, and a study planned, at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from as2lib import plugins

if TYPE_CHECKING:
    from torch import Tensor

# b pairs in a batch · q questions · n candidates of the longest list · k teachers, or heads · c = 2 classes
Targets = Mapping[str, "Tensor"]
Objective = Callable[[Any, Targets, int], NamedTuple]
NONE, ONE, SEVERAL = "no teacher", "one teacher", "one teacher or more"


@dataclass(frozen=True)
class Loss:
    """A loss that a fit can ask for by its name.

    function: its module in `as2lib.losses` and its name there; or one's own.
    reads: its arguments, as `arguments.ARGUMENTS` names them.  teachers: from how many it learns.
    balanced: whether alpha, the labels' weight, and tau balance labels and teachers.  fixed: its other arguments.
    """

    function: str | Callable[..., Any]
    reads: str
    teachers: str = NONE
    balanced: bool = False
    fixed: Mapping[str, Any] | None = None

    @property
    def unit(self) -> str:
        """What stays together in a batch: "pair", or "question", by which a model learns to order, no probability."""
        return "question" if "by_question" in self.reads else "pair"

    @property
    def heads(self) -> bool:
        """Whether a model learns by it with a head for each teacher."""
        return "heads" in self.reads and self.teachers != NONE

    def takes(self, teachers: int) -> bool:
        """Whether it learns from so many teachers."""
        return {NONE: teachers == 0, ONE: teachers == 1, SEVERAL: teachers >= 1}[self.teachers]


LISTS = "scores_by_question labels_by_question mask_by_question"
LOSSES = {
    "ce": Loss("distillation.cross_entropy", "logits labels"),
    "ce_per_head": Loss("distillation.cross_entropy_per_head", "heads labels"),
    "bce": Loss("listwise.bce", "scores labels"),
    "listwise_kl": Loss("listwise.listwise_kl", LISTS),
    "ranknet": Loss("pairwise.ranknet", LISTS),
    "kd": Loss("distillation.kd", "logits first_teacher labels", ONE, balanced=True),
    "kd_sum": Loss("multi_teacher.kd_sum", "logits teachers labels", SEVERAL, balanced=True),
    "kd_round_robin": Loss("distillation.kd", "logits teacher_in_turn labels", SEVERAL, balanced=True),
    "per_head": Loss("distillation.per_head", "heads teachers labels", SEVERAL, balanced=True),
    "margin_mse": Loss("pairwise.margin_mse", LISTS.replace(" ", " teachers_by_question ", 1), SEVERAL),
    "mean_ensemble": Loss("govern.mean_ensemble", "probability of_teachers", SEVERAL),
    "govern": Loss("govern.govern", "probability of_teachers", SEVERAL),
    "govern_ca": Loss("govern.govern_ca", "probability of_teachers labels", SEVERAL),
    "ca_mkd": Loss("govern.ca_mkd", "probability of_teachers labels", SEVERAL),
    "ca_mkd_without_ce": Loss("govern.ca_mkd", "probability of_teachers labels", SEVERAL, fixed={"weight": 0.0}),
    "teacher_a_head": Loss("govern.teacher_a_head", "of_heads of_teachers", SEVERAL),
    "govern_a_head": Loss("govern.govern_a_head", "of_heads of_teachers", SEVERAL),
}


OWN = Loss("", "output targets")


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
    from as2lib.fit.arguments import ARGUMENTS, Batch
    from as2lib.losses.distillation import Total

    which = named(loss)
    function = which.function
    if isinstance(function, str):
        function = resolve_name(f"as2lib.losses.{function}")
    balance = {"alpha": alpha, "tau": tau} if which.balanced else {}
    given = {**(which.fixed or {}), **balance, **(settings or {})}

    def of_batch(output: Any, targets: Targets, step: int) -> NamedTuple:
        batch = Batch(output, targets, step)
        result = function(*(ARGUMENTS[name](batch) for name in which.reads.split()), **given)
        return result if isinstance(result, tuple) else Total(result)

    return of_batch


def named(loss: str | Callable[..., Any]) -> Loss:
    """The loss of a name, or of one's own.  Raises ValueError for torch's losses but cross-entropy."""
    if not is_own(loss):
        return LOSSES[loss]
    from torch.nn import CrossEntropyLoss

    function = loss if callable(loss) else plugins.load(loss)
    if isinstance(function, CrossEntropyLoss):
        return Loss(function, "logits labels")
    if (getattr(function, "__module__", None) or "").startswith("torch."):
        expected = "expected a function of a model's output and the targets, or torch.nn.CrossEntropyLoss()"
        raise ValueError(f"loss: {expected}, got torch's {function}; call it in a function of your own")
    return replace(OWN, function=function)


def is_own(loss: str | Callable[..., Any]) -> bool:
    """Whether a loss is one's own, a function or its path, and no name."""
    return callable(loss) or plugins.is_path(loss)


def declared(loss: str) -> Loss:
    """What is known of a loss by its name alone; one's own is not opened."""
    return LOSSES.get(loss, OWN)


def checked(loss: str | Callable[..., Any] | None, teachers: int) -> str | Callable[..., Any]:
    """The loss of a fit with so many teachers, by default ce, kd or per_head.

    Raises ValueError for one that is not known, or can't learn from so many; one's own is not opened.
    """
    loss = loss or {0: "ce", 1: "kd"}.get(teachers, "per_head")
    if is_own(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, or package.module:function; got {loss!r}")
    if not LOSSES[loss].takes(teachers):
        others = ", ".join(name for name, other in LOSSES.items() if other.takes(teachers))
        count = teachers or "none"
        raise ValueError(f"loss {loss}: expected {LOSSES[loss].teachers}, got {count}; with {count}: {others}")
    return loss
