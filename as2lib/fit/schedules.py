"""What changes from step to step: the learning rate, and which exit of a cascade learns; pure functions of the step."""

import numpy

EXIT_SCHEDULES = ("uniform", "round_robin", "early")
EARLY_SHARE = 0.3  # of the steps in which the schedule "early" prefers early exits


def rate(step: int, steps: int, warmup: float, ratio: float | None = None) -> float:
    """The share of the highest learning rate in a step, counted from 0: linear up, then linear down to 0.

    warmup: share of the steps in which it rises.  ratio: see `slanted_triangle`, which it asks for.
    """
    if ratio is not None:
        return slanted_triangle(step, steps, round(warmup * steps) / steps, ratio)
    rise = round(warmup * steps)
    return step / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))


def slanted_triangle(step: int, steps: int, cut: float, ratio: float) -> float:
    """The share of the highest learning rate: up from 1 / ratio over the first `cut` of the steps, and down again.

    Source: Howard and Ruder 2018, equation 3.
    """
    rise = max(1, int(cut * steps))
    place = step / rise if step < rise else max(0.0, 1 - (step - rise) / max(1, steps - rise))
    return (1 + place * (ratio - 1)) / ratio


def drawn_exit(schedule: str, exits: int, step: int, steps: int, seed: int) -> int:
    """The number of the exit that learns in a step, both counted from 0.

    schedule: "uniform" draws each exit with the same chance (what the paper uses); "round_robin" takes them in turn;
    "early" draws in the first three tenths of the steps each exit half as often as the one before, then uniformly.
    Raises ValueError for another schedule.
    Source: Cascade Transformer, section 4.3.1.
    """
    if schedule not in EXIT_SCHEDULES:
        raise ValueError(f"schedule: expected one of {', '.join(EXIT_SCHEDULES)}, got {schedule!r}")
    if schedule == "round_robin":
        return step % exits
    biased = schedule == "early" and step < EARLY_SHARE * steps
    weights = 0.5 ** numpy.arange(exits) if biased else numpy.ones(exits)
    return int(numpy.random.default_rng([seed, step]).choice(exits, p=weights / weights.sum()))
