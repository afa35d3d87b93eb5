"""What a training step asks of a model beside its batch: which exit of a cascade learns; no model, no loss."""

from collections.abc import Callable
from typing import Any

import numpy

EARLY_SHARE = 0.3  # of the steps in which the schedule "early" prefers early exits


def step_inputs(spec: dict[str, Any], steps: int, seed: int) -> Callable[[int], dict[str, int]]:
    """What the forward of a step, counted from 0, gets beside its batch: `only_exit` of a cascade, else nothing."""
    if "cascade" not in spec:
        return lambda step: {}
    exits, schedule = len(spec["cascade"]["exits"]), spec.get("schedule", "uniform")
    _check(schedule)
    return lambda step: {"only_exit": drawn_exit(schedule, exits, step, steps, seed)}


def drawn_exit(schedule: str, exits: int, step: int, steps: int, seed: int) -> int:
    """The number of the exit that learns in a step, counted from 0: a pure function, so that a fit can resume.

    schedule: "uniform" draws each exit with the same chance (what the paper uses); "round_robin" takes them in turn;
    "early" draws in the first three tenths of the steps each exit half as often as the one before, then uniformly.
    Raises ValueError for another schedule.
    Source: Cascade Transformer, section 4.3.1.
    """
    _check(schedule)
    if schedule == "round_robin":
        return step % exits
    biased = schedule == "early" and step < EARLY_SHARE * steps
    weights = 0.5 ** numpy.arange(exits) if biased else numpy.ones(exits)
    return int(numpy.random.default_rng([seed, step]).choice(exits, p=weights / weights.sum()))


def _check(schedule: str) -> None:
    if schedule not in ("uniform", "round_robin", "early"):
        raise ValueError(f"schedule: expected uniform, round_robin or early, got {schedule!r}")
