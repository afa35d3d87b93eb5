"""Says how far a fit is: a bar on a terminal or in a notebook, and anywhere a line each half minute; knows no model."""

import sys
import time
from typing import Any

from as2lib.data.sets import SECONDS, bar, is_watched


class Pace:
    """The steps of a fit, said while it runs.

    steps: of all.  first: those that are done when it goes on.
    shown: whether anything is said.
    """

    def __init__(self, steps: int, first: int, shown: bool):
        self.steps, self.first, self.shown = steps, first, shown
        self.started = self.said = time.perf_counter()
        hidden = not (self.shown and is_watched())
        self.bar = bar(total=steps, initial=first, unit="step", disable=hidden, leave=False)
        self.write(f"goes on from step {first} of {steps}" if first else f"begins: {steps} steps")

    def show(self, step: int, log: list[dict[str, Any]]) -> None:
        """Say where a step of it is, if it is time to; with the last entry of its log."""
        self.bar.update()
        now = time.perf_counter()
        ends = bool(log) and log[-1]["step"] == step == self.steps
        if now - self.said < SECONDS and not ends:
            return
        self.said = now
        pace = (step - self.first) / max(1e-9, now - self.started)
        line = f"step {step} of {self.steps}"
        if log:
            dev_map = f", dev MAP {100 * log[-1]['dev_MAP']:.1f}" if "dev_MAP" in log[-1] else ""
            line += f": loss {log[-1]['total']:.4f}{dev_map}"
        speed = f"{pace:.2g} steps a second" if pace > 0.5 else f"{duration(1 / pace)} a step"
        left = "" if ends else f"; {speed}, about {duration((self.steps - step) / pace)} left"
        self.write(line + left)

    def write(self, line: str) -> None:
        if self.shown:
            self.bar.clear()  # of a terminal's line, which the bar draws anew
            print(line, file=sys.stderr, flush=True)

    def __enter__(self) -> "Pace":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def duration(seconds: float) -> str:
    """About how long, in the unit that a person would use."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
