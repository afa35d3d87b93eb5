"""Times functions side by side in one process: alternating, so that a machine's drift hits all; medians."""

import statistics
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

from as2lib.precision import native_bf16
from bench.memory import watched

ROUNDS = 5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PRECISIONS = ("float32", "bf16") if native_bf16() else ("float32",)  # bf16 is measured where it is native


class Timed(NamedTuple):
    """Median seconds, and peak memory of any round in GiB, of the GPU where one is used."""

    seconds: float
    gib: float


def measure(
    functions: Mapping[str, Callable[[], object]], rounds: int = ROUNDS, warmup: bool = True
) -> dict[str, Timed]:
    """Each function's time and memory over `rounds`, in turns, after one of each that is not timed."""
    found = {name: [] for name in functions}
    for round_ in range(rounds + warmup):
        for name, function in functions.items():
            turn = watched(function)
            if round_ >= warmup:
                found[name].append(Timed(turn.seconds, turn.gpu_gib or turn.gib))
    return {
        name: Timed(statistics.median(timed.seconds for timed in turns), max(timed.gib for timed in turns))
        for name, turns in found.items()
    }


def ratio(slow: Callable[[], object], fast: Callable[[], object], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds and peak memory of each, and how many times faster the second is."""
    return compared(**measure({"slow": slow, "fast": fast}, rounds))


def compared(slow: Timed, fast: Timed) -> dict[str, float]:
    """A row of the results: how many times faster `fast` is."""
    return {
        "slow": slow.seconds,
        "fast": fast.seconds,
        "ratio": slow.seconds / fast.seconds,
        "slow_gib": slow.gib,
        "fast_gib": fast.gib,
    }
