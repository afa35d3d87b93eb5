"""Times two functions side by side in one process: alternating, so that a machine's drift hits both; medians."""

import statistics
import time
from collections.abc import Callable


def ratio(slow: Callable[[], object], fast: Callable[[], object], rounds: int = 5) -> dict[str, float]:
    """Seconds of each (median over `rounds`, after one warm-up) and how many times faster the second is."""
    seconds: dict[str, list[float]] = {"slow": [], "fast": []}
    for round_ in range(rounds + 1):
        for name, function in (("slow", slow), ("fast", fast)):
            started = time.perf_counter()
            function()
            if round_:
                seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {**medians, "ratio": medians["slow"] / medians["fast"]}
