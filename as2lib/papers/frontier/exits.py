"""A multiple-heads student that drops candidates on the way: its model and its loss, as a run's spec names them.

A run is known by this file's bytes.  b pairs in a batch · e exits before the heads · k heads · c = 2 classes
"""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from as2lib.losses.distillation import cross_entropy_per_head
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.models.mhs_cascade import MHSCascade, MHSCascadeOutput


class Loss(NamedTuple):
    """`heads` (k,) and `exits` (e,): the hard loss of each."""

    total: Tensor
    heads: Tensor
    exits: Tensor


def model(student: MHSForSequenceClassification) -> MHSCascade:
    """A student with an exit behind every layer of its body."""
    return MHSCascade.from_student(student, range(1, student.config.body + 1))


def loss(output: MHSCascadeOutput, targets: Mapping[str, Tensor]) -> Loss:
    """The hard loss of every head and of every exit, summed: a cascade's exits have no teacher either.

    targets: `labels` (b,).  Raises ValueError as `cross_entropy_per_head`.
    """
    heads, exits = (
        cross_entropy_per_head(each, targets["labels"]) for each in (output.head_logits, output.exit_logits)
    )
    return Loss(heads.total + exits.total, heads.hard, exits.hard)
