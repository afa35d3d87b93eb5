"""What losses read, by name, each a function of a batch: of a model's output and of the targets; knows no loss."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torch import Tensor

from as2lib.losses.multi_teacher import round_robin
from as2lib.models.logits import logits_of, part_of
from as2lib.models.word_pairs import by_question

# b pairs · q questions · n candidates of the longest list · k teachers, or heads · c = 2 classes
LARGEST = 1e18  # logit: its square is finite


class Batch(NamedTuple):
    """output: of a model.  targets: as `objectives.objective` has them.  step: counted from 0."""

    output: Any
    targets: Mapping[str, Tensor]
    step: int


def heads(batch: Batch) -> Tensor:
    """The logits of each head, (b, k, c)."""
    if (logits := part_of(batch.output, "head_logits")) is None:
        raise ValueError("expected a model with heads (MHSForSequenceClassification), got one without head_logits")
    return logits


def scores(batch: Batch) -> Tensor:
    """The model's log odds, (b,)."""
    return log_odds(logits_of(batch.output))


def log_odds(logits: Tensor) -> Tensor:
    """Of class 1, in float32; finite where a logit is not, whose square is finite too: (…, c) → (…)."""
    wide = logits.float().clamp(-LARGEST, LARGEST)
    return wide[..., 1] - wide[..., 0]


def lists(batch: Batch, values: Tensor) -> tuple[Tensor, Tensor]:
    """Values of pairs, (b,), with a row a question, (q, n), and a mask, true at candidates."""
    return by_question(values, batch.targets["candidates"])


ARGUMENTS: dict[str, Callable[[Batch], Any]] = {
    "output": lambda batch: batch.output,
    "targets": lambda batch: batch.targets,
    "labels": lambda batch: batch.targets["labels"],  # (b,)
    "logits": lambda batch: logits_of(batch.output),  # (b, c)
    "heads": heads,
    "teachers": lambda batch: batch.targets["teacher_logits"],  # (b, k, c)
    "first_teacher": lambda batch: batch.targets["teacher_logits"][:, 0],  # (b, c)
    "teacher_in_turn": lambda batch: round_robin(batch.step, batch.targets["teacher_logits"]),  # (b, c)
    "scores": scores,
    # P(correct)
    "probability": lambda batch: scores(batch).sigmoid(),  # (b,)
    "of_heads": lambda batch: log_odds(heads(batch)).sigmoid(),  # (b, k)
    "of_teachers": lambda batch: log_odds(batch.targets["teacher_logits"]).sigmoid(),  # (b, k)
    # a row a question, (q, n)
    "scores_by_question": lambda batch: lists(batch, scores(batch))[0],
    "labels_by_question": lambda batch: lists(batch, batch.targets["labels"])[0],
    "mask_by_question": lambda batch: lists(batch, batch.targets["labels"])[1],
    "teachers_by_question": lambda batch: lists(batch, log_odds(batch.targets["teacher_logits"]).mean(dim=1))[0],
}
