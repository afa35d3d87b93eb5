"""Where a study stands: what each run is at, how much is left, and lines about it while the graph is walked."""

import json
import sys
import time
from typing import NamedTuple

from as2lib.locks import is_held
from as2lib.paths import find_root
from as2lib.study import graph
from as2lib.study.bundles import Bundle
from as2lib.study.estimate import seconds_of
from as2lib.study.make import ERROR, partial_folder
from as2lib.study.store import Store
from as2lib.study.study import Study

EVERY = 30.0  # seconds between lines, without a terminal
NOTEBOOK = 15.0  # seconds of a notebook, about


class State(NamedTuple):
    """What a run is at: "done", "published", "running", "failed", "to do" or "no scores" (made only for its weights).

    detail: the step and pace of one that is running, the last line of what went wrong with one that failed.
    """

    name: str
    state: str
    detail: str = ""


def states(store: Store) -> list[State]:
    """The state of each run of a study, in the plan's order."""
    needed = store.needed(list(store.plan))
    return [_state(store, name, name in needed) for name in store.plan]


def _state(store: Store, name: str, missing: bool) -> State:
    if not missing:
        stored = store.find(name)
        return State(name, "no scores" if stored is None else "published" if stored.scores_only else "done")
    partial = partial_folder(store, name)
    if partial.exists() and is_held(store.folder(name).name):
        log = partial / "log.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        entry = json.loads(lines[-1]) if lines else {"step": 0}
        pace = entry["step"] / entry["seconds"] if entry.get("seconds") else 0.0
        return State(name, "running", f"step {entry['step']:,}, {pace:.1f} a second")
    if (error := partial / ERROR).exists():
        return State(name, "failed", error.read_text(encoding="utf-8").strip())
    return State(name, "to do")


def watch(study: Study, jobs: dict[str, Bundle], pages: list[str]) -> None:
    """Say where a study stands until all is made: a line each half minute, one that changes on a terminal."""
    seconds = seconds_of(study.store)
    runs = {name: seconds(study.plan[name]) for job in jobs.values() for name in job.runs}
    markers = [find_root() / graph.job_marker(study, name) for name in jobs]
    notebooks = [marker for marker in (find_root() / page for page in pages) if not marker.exists()]
    work = sum(runs.values()) + NOTEBOOK * len(notebooks)
    started = time.monotonic()
    terminal = sys.stderr.isatty()
    share = 0.0 if work else 1.0
    while share < 1:
        time.sleep(1.0 if terminal else EVERY)
        made = [name for name in runs if (study.store.folder(name) / "done.json").exists()]
        there = sum(marker.exists() for marker in notebooks)
        share = (sum(runs[name] for name in made) + NOTEBOOK * there) / work
        spent = time.monotonic() - started
        line = (
            f"study {study.name}: {sum(marker.exists() for marker in markers)} of {len(jobs)} jobs, "
            f"{len(made)} of {len(runs)} runs, {there} of {len(notebooks)} pages; {clock(spent)}"
        )
        if share > 0.02:
            line += f", about {clock(spent * (1 - share) / share)} left"
        start, end = ("\r\033[K", "") if terminal else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)


def left(study: Study, jobs: dict[str, Bundle], markers: dict[str, str]) -> str:
    """What of a study is not made, and what failed, on one line; "" where all is there.

    markers: of the notebooks that are to be made, and of the check.
    """
    root = find_root()
    parts = [name for name in jobs if not (root / graph.job_marker(study, name)).exists()]
    parts = [f"{len(parts)} of {len(jobs)} jobs"] if parts else []
    parts += [name for name, marker in markers.items() if not (root / marker).exists()]
    if not parts:
        return ""
    failures = [f"{state.name} ({state.detail})" for state in states(study.store) if state.state == "failed"]
    failed = f"; failed: {failures[0]}{f' and {len(failures) - 1} more' if failures[1:] else ''}" if failures else ""
    more = f"`as2 plan {study.name}` lists the runs, `as2 study {study.name} --quiet rules` what Snakemake does"
    return f"study {study.name}: not all is made, left: {', '.join(parts)}{failed}; {more}\n"


def clock(seconds: float) -> str:
    """A time as people say it: 0:40, 12:05, 3 h 20."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60:02}"
