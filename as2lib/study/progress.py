"""Where a study stands: what each run is at, how much is left, and lines about it while the graph is walked."""

import json
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from as2lib.locks import is_held
from as2lib.paths import find_root
from as2lib.study import graph
from as2lib.study.estimate import Estimate
from as2lib.study.make import ERROR

if TYPE_CHECKING:
    from as2lib.study.bundles import Bundle
    from as2lib.study.store import Store
    from as2lib.study.study import Study

EVERY = 30.0  # seconds between lines, without a terminal
NOTEBOOK = 15.0  # seconds of a notebook, about


@dataclass(frozen=True)
class State:
    """What a run is at: "done", "published", "running", "failed", "to do" or "no scores" (made only for its weights).

    step: that its log came to.  rate: steps a second.  error: the last line of what went wrong.
    """

    name: str
    state: str
    step: int = 0
    rate: float = 0.0
    error: str = ""


def states(store: "Store") -> list[State]:
    """The state of each run of a study, in the plan's order."""
    needed = store.needed(list(store.plan))
    return [_state(store, name, name in needed) for name in store.plan]


def _state(store: "Store", name: str, missing: bool) -> State:
    if not missing:
        stored = store.find(name)
        return State(name, "no scores" if stored is None else "published" if stored.published else "done")
    folder = store.folder(name)
    partial = folder.with_name(f"{folder.name}.partial")
    if not partial.exists():
        return State(name, "to do")
    step, rate = _pace(partial / "log.jsonl")
    if is_held(folder.name):
        return State(name, "running", step, rate)
    error = partial / ERROR
    if error.exists():
        return State(name, "failed", step, error=error.read_text(encoding="utf-8").strip())
    return State(name, "to do", step)


def _pace(log: Path) -> tuple[int, float]:
    """The last step of a log, and steps a second since the fit began."""
    if not log.exists() or not (lines := log.read_text(encoding="utf-8").splitlines()):
        return 0, 0.0
    entry = json.loads(lines[-1])
    return entry["step"], entry["step"] / entry["seconds"] if entry.get("seconds") else 0.0


def watch(study: "Study", jobs: "dict[str, Bundle]", pages: list[str]) -> None:
    """Say where a study stands until this process ends: a line each half minute, or one bar on a terminal.

    pages: the markers of its notebooks.
    """
    threading.Thread(target=_watch, args=(study, jobs, pages), daemon=True).start()


def _watch(study: "Study", jobs: "dict[str, Bundle]", pages: list[str]) -> None:
    seconds = Estimate(study.store).seconds
    runs = {name: seconds(study.plan[name]) for job in jobs.values() for name in job.runs}
    markers = [find_root() / graph.job_marker(study, name) for name in jobs]
    notebooks = [marker for marker in (find_root() / page for page in pages) if not marker.exists()]
    work = sum(runs.values()) + NOTEBOOK * len(notebooks)
    started = time.monotonic()
    terminal = sys.stderr.isatty()
    while runs or notebooks:
        made = [name for name in runs if (study.store.folder(name) / "done.json").exists()]
        there = sum(marker.exists() for marker in notebooks)
        spent = time.monotonic() - started
        share = (sum(runs[name] for name in made) + NOTEBOOK * there) / work
        groups = sum(marker.exists() for marker in markers)
        line = (
            f"study {study.name}: {groups} of {len(jobs)} jobs, {len(made)} of {len(runs)} runs, "
            f"{there} of {len(notebooks)} pages; {clock(spent)}"
        )
        if share > 0.02:
            line += f", about {clock(spent * (1 - share) / share)} left"
        if terminal:
            filled = round(20 * share)
            print(f"\r\033[K[{'#' * filled}{'.' * (20 - filled)}] {line}", end="", file=sys.stderr, flush=True)
        elif spent > 1:
            print(line, file=sys.stderr, flush=True)
        if share == 1:
            return
        time.sleep(1.0 if terminal else EVERY)


def clock(seconds: float) -> str:
    """A time as people say it: 0:40, 12:05, 3 h 20."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60:02}"
