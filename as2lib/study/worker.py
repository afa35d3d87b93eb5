"""Makes what a study misses: parents first, one run once, however many workers take from the same study.

A run is written to <folder>.partial and renamed whole, done.json last: a kill loses the steps since its checkpoint.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from as2lib.data.sets import bar, is_watched
from as2lib.locks import is_held, lock, take
from as2lib.study import derived
from as2lib.study.estimate import steps
from as2lib.study.run import Run
from as2lib.study.store import Store, Task, git_commit, write_json

MAKE_NOTHING = "AS2_MAKE_NOTHING"  # set in the notebooks of a study, whose runs its workers make
ON_A_DEVICE = ("fit", "shuffled", "ranker")  # kinds of runs
ERROR_FILE = "error.txt"  # in the folder of a run that failed: the traceback
CHECKPOINT = "checkpoint"  # in a run's folder while it is made
WAIT_SECONDS = 0.5  # until a worker with nothing to take looks again
Say = Callable[[str], None]


class Queue:
    """The runs that a study misses, those with the longest chain behind them first; knows no file.

    chain: run → steps of the longest chain that begins with it, one more a run.
    """

    def __init__(self, plan: dict[str, Run], needed: dict[str, bool]):
        self.needed = needed
        self.parents = {name: [run.name for run in plan[name].parent_runs() if run.name in needed] for name in needed}
        self.chain = dict.fromkeys(needed, 0)
        for name in reversed(needed):  # children first
            self.chain[name] += 1 + steps(plan[name])
            for parent in self.parents[name]:
                self.chain[parent] = max(self.chain[parent], self.chain[name])
        self.left = dict.fromkeys(sorted(needed, key=lambda name: -self.chain[name]))  # not known to be made
        self.failed: set[str] = set()

    def ready(self, is_made: Callable[[str], bool]) -> Iterator[str]:
        """The runs that can be made now, in the order in which they are to be taken."""

        def is_left(name: str) -> bool:
            if name in self.left and is_made(name):
                del self.left[name]
            return name in self.left

        for name in list(self.left):
            if name not in self.failed and not any(map(is_left, self.parents[name])) and is_left(name):
                yield name

    def possible(self) -> set[str]:
        """The runs that are left, but for those that failed and all that is made from these."""
        lost = set(self.failed)
        for name in self.needed:  # parents first
            if lost.intersection(self.parents[name]):
                lost.add(name)
        return self.left.keys() - lost


class Page(NamedTuple):
    """A page, made once its runs are there.  error: where a traceback goes.  make: says whether it had to be made."""

    name: str
    runs: frozenset[str]
    error: Path
    make: Callable[[], bool]


def work(store: Store, say: Say, model: bool = False, pages: Sequence[Page] = ()) -> list[str]:
    """Make what is missing, and pages as soon as their runs are there, until nothing is left that could be taken.

    A run that another worker makes is waited for where something is made from it; what fails stops only what is made
    from it.  Returns the names of what can't be made.  Where its time is up (SIGTERM), a job of a cluster is put back
    in the queue if the study came any further.
    """
    queue, began = Queue(store.plan, store.needed(list(store.plan), model)), time.time()
    if any(store.plan[name].kind in ON_A_DEVICE for name in queue.needed):
        take_gpu()
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return _work(store, say, queue, list(pages), began)
    except SystemExit:
        traces = [partial_folder(store, name) / CHECKPOINT for name in queue.needed]
        traces += [store.folder(name) / "done.json" for name in queue.needed]
        if (job := os.environ.get("SLURM_JOB_ID")) and any(_is_since(trace, began) for trace in traces):
            subprocess.run(["scontrol", "requeue", job], check=False)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _work(store: Store, say: Say, queue: Queue, pages: list[Page], began: float) -> list[str]:
    is_made, failed_pages = partial(is_whole, store), []

    def make_run(name: str) -> None:
        if line := make_locked(store, name):
            count = sum(name not in queue.left or is_made(name) for name in queue.needed)
            say(f"{count}/{len(queue.needed)} {line}")

    def make_page(page: Page) -> None:
        started = time.perf_counter()
        if page.make():
            say(f"page {page.name}, {time.perf_counter() - started:.0f} s")

    def jobs() -> Iterator[tuple[str, str, Path, Callable[[], None], Callable[[str], None]]]:
        """What can be made now: its name, its lock, where its traceback goes, what makes it, what notes its failure."""
        for name in queue.ready(is_made):
            error = partial_folder(store, name) / ERROR_FILE
            yield name, store.folder(name).name, error, partial(make_run, name), queue.failed.add
        for page in [page for page in pages if queue.left.keys().isdisjoint(page.runs)]:
            pages.remove(page)  # one that another worker makes is its
            yield page.name, f"page-{page.name}", page.error, partial(make_page, page), failed_pages.append

    def take_one() -> bool:
        """Make the first job that is nobody's; False where there is none now."""
        for name, lock_name, error, make, fail in jobs():
            job_lock = take(lock_name)
            if job_lock is None:
                continue  # another worker is at it
            try:
                if _is_since(error, began):  # another worker failed in it
                    fail(name)
                else:
                    make()
            except Exception as problem:
                fail(name)
                say(f"failed: {name}: {traceback.format_exception_only(problem)[-1].splitlines()[0]}   ({error})")
            finally:
                job_lock.release()
            return True
        return False

    while True:
        if take_one():
            continue
        possible = queue.possible()
        children = any(queue.left.keys() & set(queue.parents[name]) for name in possible)
        if not children and not any(queue.left.keys() & page.runs <= possible for page in pages):
            return [*(name for name in queue.left if name not in possible), *failed_pages]
        time.sleep(WAIT_SECONDS)


def _is_since(path: Path, began: float) -> bool:
    return path.exists() and path.stat().st_mtime >= began


# ---------------------------------------------------------------- one run


def make_all(store: Store, names: list[str], model: bool = False, say: Say | None = None) -> list[str]:
    """Make the runs that are missing for the scores of some runs, or for their models; returns the names of those made.

    say: called with a line for each run that was made; None: bars on a terminal and in a notebook.
    """
    missing = list(store.needed(names, model))
    if missing and os.environ.get(MAKE_NOTHING):
        raise FileNotFoundError(f"not made yet: {missing[0]}; `as2 fit {store.study.study} {missing[0]}` makes it")
    names_made, bars = [], say is None and is_watched()
    for place, name in enumerate(bar(missing, unit="run", leave=False, disable=not bars), 1):
        if store.plan[name].kind in ON_A_DEVICE:
            take_gpu()  # before its lock: who holds a GPU may wait for this run
        with lock(store.folder(name).name, name):
            line = make_locked(store, name, bars)
        if line:
            names_made.append(name)
            if say:
                say(f"{place}/{len(missing)} {line}")
    return names_made


def make_locked(store: Store, name: str, progress: bool = False) -> str:
    """Make a run whose lock is held, its parents made; what is said of it, "" where another process made it."""
    run, folder, unfinished = store.planned(name), store.folder(name), partial_folder(store, name)
    if is_whole(store, name):
        return ""
    started = time.perf_counter()
    with noting(unfinished / ERROR_FILE):
        content = {"name": name, "identity": store.identity(name), **store.ingredients(name)}
        write_json(unfinished / "spec.json", content)
        parents = {role: [store.find(parent.name) for parent in runs] for role, runs in run.parents.items()}
        facts = MAKERS[run.kind](Task(store, run, parents, unfinished, progress))
        done = {"identity": store.identity(name), "commit": git_commit(), "facts": facts}
        write_json(unfinished / "done.json", done)
        shutil.rmtree(folder, ignore_errors=True)  # one without weights
        os.replace(unfinished, folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)  # only now: until here a killed fit goes on from it
    dev = facts.get("dev_MAP")
    return f"{name}, {time.perf_counter() - started:.0f} s" + ("" if dev is None else f", dev MAP {100 * dev:.1f}")


def is_whole(store: Store, name: str) -> bool:
    """Whether a run that was missing is made: a fit with its weights."""
    return store.find(name, model=store.planned(name).kind == "fit") is not None


@contextmanager
def noting(error: Path) -> Iterator[None]:
    """Leaves the traceback of what fails in a file, until it is tried again."""
    error.unlink(missing_ok=True)
    try:
        yield
    except Exception:
        with suppress(OSError):  # a full disk has no place for it
            error.parent.mkdir(parents=True, exist_ok=True)
            error.write_text(traceback.format_exc(), encoding="utf-8")
        raise


def partial_folder(store: Store, name: str) -> Path:
    """Where a run is written until it is whole."""
    return store.folder(name).with_suffix(".partial")


def _ranker(task: Task) -> dict[str, Any]:
    from as2lib.study import taken

    return taken.ranker(task)


def _fit(task: Task) -> dict[str, Any]:
    from as2lib.study import fitting

    return fitting.fit(task) if task.run.kind == "fit" else fitting.score_shuffled(task)


MAKERS = {"lexical": _ranker, "ranker": _ranker, "ensemble": derived.ensemble, "fit": _fit, "shuffled": _fit}


# ---------------------------------------------------------------- where a study stands


class State(NamedTuple):
    """What a run is at: "done", "published", "running", "failed", "to do" or "no scores" (made only for its weights).

    detail: the step and pace of one that is running, what went wrong with one that failed.
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
    unfinished = partial_folder(store, name)
    if unfinished.exists() and is_held(store.folder(name).name):
        log = unfinished / "log.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        entry = json.loads(lines[-1]) if lines else {"step": 0}
        pace = entry["step"] / entry["seconds"] if entry.get("seconds") else 0.0
        return State(name, "running", f"step {entry['step']:,}, {pace:.1f} a second")
    if (error := unfinished / ERROR_FILE).exists():
        return State(name, "failed", f"{error.read_text(encoding='utf-8').strip().splitlines()[-1]}   ({error})")
    return State(name, "to do")


def unfinished_line(study: str, states: Sequence[State], pages: Sequence[str] = ()) -> str:
    """What of a study is not made, and what failed, on one line; "" where all is there."""
    missing = [state for state in states if state.state in ("to do", "running", "failed")]
    names = ", ".join([*([f"{len(missing)} of {len(states)} runs"] if missing else []), *pages])
    if not names:
        return ""
    failures = [f"{state.name}: {state.detail}" for state in missing if state.state == "failed"]
    failed = f"; failed: {failures[0]}{f' and {len(failures) - 1} more' if failures[1:] else ''}" if failures else ""
    return f"study {study}: not all is made, left: {names}{failed}; `as2 plan {study}` lists the runs"


# ---------------------------------------------------------------- devices


def gpus() -> list[str]:
    """The GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else all that the driver lists."""
    listed = range(len(list(Path("/proc/driver/nvidia/gpus").glob("*"))))
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, listed)))
    return [name.strip() for name in names.split(",") if name.strip() not in ("", "-1")]


@cache
def take_gpu() -> FileLock | None:
    """Leaves this process, until it ends, one of its GPUs that no other has; waits while all are taken.

    To be called before CUDA starts.  Nothing happens where there is at most one, as in a job of a cluster.
    """
    names = gpus()
    while len(names) > 1:
        for name in names:
            if gpu_lock := take(f"as2lib-gpu-{name}", Path(tempfile.gettempdir())):
                os.environ["CUDA_VISIBLE_DEVICES"] = name
                return gpu_lock
        time.sleep(5)
    return None
