"""Times and memory of functions side by side in one process: in turns, so that a machine's drift hits all; medians.

On a processor seconds are those that it worked for this process, which other programs hardly stretch; on a GPU the
clock's.  Pages of files mapped into memory are not counted: the system takes them back where memory is short.
"""

import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from as2lib.precision import native_bf16

ROUNDS = 5
INTERVAL = 0.02  # seconds between two looks at the memory
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PRECISIONS = ("float32", "bf16") if native_bf16() else ("float32",)  # bf16 is measured where it is native


class Measured(NamedTuple):
    """A function's result, its seconds, and its peak memory in GiB: the GPU's where one is used."""

    result: Any
    seconds: float
    gib: float


def measure(
    functions: Mapping[str, Callable[[], object]], rounds: int = ROUNDS, warmup: bool = True
) -> dict[str, Measured]:
    """Each function's median seconds and highest peak over `rounds`, after a round that is not timed; no result."""
    turns: dict[str, list[Measured]] = {name: [] for name in functions}
    for number in range(rounds + warmup):
        for name, function in functions.items():
            turn = watched(function)
            if number >= warmup:
                turns[name].append(turn)
    return {
        name: Measured(None, statistics.median(turn.seconds for turn in each), max(turn.gib for turn in each))
        for name, each in turns.items()
    }


def compared(slow: Measured, fast: Measured) -> dict[str, float]:
    """A row of the results: how many times faster `fast` is."""
    return {
        "slow": slow.seconds,
        "fast": fast.seconds,
        "ratio": slow.seconds / fast.seconds,
        "slow_gib": slow.gib,
        "fast_gib": fast.gib,
    }


def watched(function: Callable[[], Any]) -> Measured:
    """A function's result, and its seconds and peak memory while it ran."""
    gpu = DEVICE == "cuda"
    if gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    peak, done = [held()], threading.Event()

    def watch() -> None:
        while not done.wait(INTERVAL):
            peak[0] = max(peak[0], held())

    watcher = threading.Thread(target=watch)
    watcher.start()
    clock = time.perf_counter if gpu else time.process_time
    started = clock()
    try:
        result = function()
        if gpu:
            torch.cuda.synchronize()
        seconds = clock() - started
    finally:
        done.set()
        watcher.join()
    gib = torch.cuda.max_memory_allocated() / 2**30 if gpu else max(peak[0], held()) / 2**20
    return Measured(result, seconds, gib)


def held() -> int:
    """KiB of memory that this process holds of its own; 0 where there is no /proc."""
    try:
        lines = Path(f"/proc/{os.getpid()}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)
