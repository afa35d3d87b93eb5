"""What changes from step to step: the learning rate, and which exit of a cascade learns; pure functions of the step."""

import numpy

CLIP = 1.0  # the norm of a step's gradient, at most
EARLY_SHARE = 0.3  # of the steps in which the schedule "early" prefers early exits


def rate(step: int, steps: int, warmup: float, ratio: float | None = None) -> float:
    """The share of the highest learning rate in a step, counted from 0: linear up, then linear down.

    warmup: share of the steps in which it rises.
    ratio: of the highest rate to the lowest, at both ends (a slanted triangle); None: from 0 and down to 0.
    Source: Howard and Ruder 2018, equation 3.
    """
    rise = round(warmup * steps)
    if ratio is None:
        return step / rise if step < rise else max(0.0, (steps - step) / max(1, steps - rise))
    rise = max(1, int(rise / steps * steps))  # rounded as in published fits: one step less at times
    place = step / rise if step < rise else max(0.0, 1 - (step - rise) / max(1, steps - rise))
    return (1 + place * (ratio - 1)) / ratio


def drawn_exit(schedule: str, exits: int, step: int, steps: int, seed: int) -> int:
    """The number of the exit that learns in a step, both counted from 0.

    schedule: "uniform" draws each exit with the same chance (what the paper uses); "round_robin" takes them in turn;
    "early" draws in the first three tenths of the steps each exit half as often as the one before, then uniformly.
    Source: Cascade Transformer, section 4.3.1; the numbers of "early" are ours.
    """
    if schedule == "round_robin":
        return step % exits
    weights = {"uniform": numpy.ones(exits), "early": 0.5 ** numpy.arange(exits)}[schedule]
    if step >= EARLY_SHARE * steps:
        weights = numpy.ones(exits)
    return int(numpy.random.default_rng([seed, step]).choice(exits, p=weights / weights.sum()))
