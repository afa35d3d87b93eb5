"""How often the interval over questions and seeds errs, and whether its design sees what it says: two simulations.

python docs/simulate.py [TRIALS]   prints the tables of docs/statistics.md, in a minute or two.
"""

import sys
from collections.abc import Iterable

import numpy as np

from as2lib.metrics.significance import DECIMALS, Estimate, drawn_seeds, over_questions_and_seeds, smallest_difference
from as2lib.metrics.significance import _interval as interval
from as2lib.metrics.significance import _questions_share as questions_share

QUESTIONS, OF_QUESTIONS, REST = 240, 0.15, 0.15  # deviations of AP, of the order that rankers of one kind have
DRAWS = 2000


def gaps(generator: np.random.Generator, seeds: int, of_seeds: float, mean: float = 0.0) -> np.ndarray:
    """Differences (questions, seeds) of a true mean, from three normal parts; of_seeds: points of MAP a seed adds."""
    parts = [(OF_QUESTIONS, (QUESTIONS, 1)), (of_seeds / 100, (1, seeds)), (REST, (QUESTIONS, seeds))]
    return mean + sum(deviation * generator.normal(size=shape) for deviation, shape in parts)


def without_floor(trial: np.ndarray) -> tuple[float, float]:
    """The same interval, allowed to be narrower than that over questions alone."""
    n = len(trial)
    normal = np.random.default_rng(1).normal(size=DRAWS) * trial.mean(axis=1).std(ddof=1) / np.sqrt(n)
    return interval(trial.mean() + questions_share(trial) * normal + drawn_seeds(trial, DRAWS, [0, 0, 1]))


def share(inside: Iterable[bool]) -> str:
    values = list(inside)
    return f"{100 * np.mean(values):.0f}" if values else "–"


def coverage(trials: int) -> None:
    print(
        "| seeds | a seed adds | over questions and seeds | where seeds agree | … without the floor | questions alone |"
    )
    print("|--:|--:|--:|--:|--:|--:|")
    for seeds in (3, 5, 10):
        for of_seeds in (0.0, 0.5, 1.5):
            generator = np.random.default_rng(0)
            samples = [gaps(generator, seeds, of_seeds) for _ in range(trials)]
            estimates = over_questions_and_seeds([[sample] for sample in samples], DRAWS)
            bare = [without_floor(sample) for sample in samples]
            agree = [i for i in range(trials) if width(*bare[i]) < width(*estimates[i][4:6])]
            covered = [estimate.low <= 0 <= estimate.high for estimate in estimates]
            alone = share(estimate.questions_low <= 0 <= estimate.questions_high for estimate in estimates)
            narrow = f"{share(covered[i] for i in agree)} (of {100 * len(agree) / trials:.0f} %)"
            row = (seeds, of_seeds, share(covered), narrow, share(bare[i][0] <= 0 <= bare[i][1] for i in agree), alone)
            print("|", " | ".join(map(str, row)), "|")


def width(low: float, high: float) -> float:
    return high - low


def power(trials: int) -> None:
    print("| seeds | a seed adds | smallest difference | seen in | equal systems are seen apart in |")
    print("|--:|--:|--:|--:|--:|")
    for seeds in (3, 5, 10, 20):
        for of_seeds in (0.0, 0.5, 1.5):
            generator = np.random.default_rng(0)
            difference = smallest_difference([gaps(generator, 1000, of_seeds)], seeds)
            samples = [[gaps(generator, seeds, of_seeds, mean)] for mean in [difference] * trials + [0.0] * trials]
            estimates = over_questions_and_seeds(samples, DRAWS)
            seen, chance = share(map(apart, estimates[:trials])), share(map(apart, estimates[trials:]))
            print(f"| {seeds} | {of_seeds} | {100 * difference:.2f} | {seen} % | {chance} % |")


def apart(estimate: Estimate) -> bool:
    return not round(estimate.low, DECIMALS) <= 0 <= round(estimate.high, DECIMALS)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    coverage(number)
    print()
    power(number)
