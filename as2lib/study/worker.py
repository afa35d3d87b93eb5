"""Makes what a study misses: parents first, one run once, however many workers take from the same study.

A run is written to <folder>.partial and renamed whole, done.json last: a kill loses the steps since its checkpoint.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from filelock import Timeout
from tqdm.auto import tqdm

from as2lib.data.sets import is_watched
from as2lib.locks import file_lock, lock
from as2lib.study import derived
from as2lib.study.store import Store, Task, git_commit, write_json

WORKER = "AS2_WORKER"  # of a study's workers: its number
ERROR_FILE = "error.txt"  # in the folder of a run that failed: the traceback
CHECKPOINT = "checkpoint"  # in a run's folder while it is made
WAIT_SECONDS = 0.5  # until a worker with nothing to take looks again
Say = Callable[[str], None]


class Job(NamedTuple):
    """A run, or a page.  lock: its name.  error: where a traceback goes.  runs: those that it is made from.

    make: returns what is said of it, "" where it is there already.
    """

    name: str
    lock: str
    error: Path
    runs: frozenset[str]
    make: Callable[[], str]


def work(store: Store, say: Say, model: bool = False, pages: Sequence[Job] = ()) -> list[str]:
    """Make what is missing, and pages as soon as their runs are there, until nothing is left that could be taken.

    A run that another worker makes is waited for where something is made from it; what fails stops only what is made
    from it.  Returns the names of what can't be made.  Where its time is up (SIGTERM), a job of a cluster is put back
    in the queue if the study came any further.
    """
    needed, began = store.needed(list(store.plan), model), time.time()
    take_gpu()

    def make_run(name: str) -> str:
        line = make_locked(store, name)
        return line and f"{sum(is_whole(store, other) for other in needed)}/{len(needed)} {line}"

    jobs = []
    for name in needed:
        parents = frozenset(parent.name for parent in store.plan[name].parent_runs())
        error = partial_folder(store, name) / ERROR_FILE
        jobs.append(Job(name, store.folder(name).name, error, parents, partial(make_run, name)))
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return _work([*jobs, *pages], say, began)
    except SystemExit:
        traces = [partial_folder(store, name) / CHECKPOINT for name in needed]
        traces += [store.folder(name) / "done.json" for name in needed]
        if (job := os.environ.get("SLURM_JOB_ID")) and any(_is_since(trace, began) for trace in traces):
            subprocess.run(["scontrol", "requeue", job], check=False)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _work(jobs: Sequence[Job], say: Say, began: float) -> list[str]:
    left, failed = {job.name: job for job in jobs}, set()  # parents first

    def take_one() -> bool:
        """Make the first job that is nobody's and whose runs are there; False where there is none now."""
        for name, job in left.items():
            if name in failed or job.runs & left.keys():
                failed.update({name} if job.runs & failed else ())
                continue
            try:
                held = file_lock(job.lock).acquire(blocking=False)
            except Timeout:
                continue  # another worker is at it
            with held:
                try:
                    line = "" if (lost := _is_since(job.error, began)) else job.make()  # another worker failed in it
                except Exception as problem:
                    lost, reason = True, traceback.format_exception_only(problem)[-1].splitlines()[0]
                    line = f"failed: {name}: {reason}   ({job.error})"
            if lost:
                failed.add(name)
            else:
                del left[name]
            if line:
                say(line)
            return True
        return False

    while True:
        if take_one():
            continue
        if not any(job.runs & left.keys() for name, job in left.items() if name not in failed):
            return [name for name in left if name in failed]
        time.sleep(WAIT_SECONDS)  # until a run that another worker makes is there


def _is_since(path: Path, began: float) -> bool:
    return path.exists() and path.stat().st_mtime >= began


# ---------------------------------------------------------------- one run


def make_all(store: Store, names: list[str], model: bool = False, say: Say | None = None) -> list[str]:
    """Make the runs that are missing for the scores of some runs, or for their models; returns the names of those made.

    say: called with a line for each run that was made; None: bars on a terminal and in a notebook.
    """
    missing = list(store.needed(names, model))
    names_made, bars = [], say is None and is_watched()
    for place, name in enumerate(tqdm(missing, unit="run", leave=False, disable=not bars), 1):
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


def _late(module: str, function: str) -> Callable[[Task], dict[str, Any]]:
    """A function of a module that is imported only when it is called."""
    return lambda task: getattr(import_module(f"as2lib.study.{module}"), function)(task)


MAKERS = {
    **dict.fromkeys(["lexical", "ranker"], _late("taken", "ranker")),
    "ensemble": derived.ensemble,
    "fit": _late("fitting", "fit"),
    "shuffled": _late("fitting", "score_shuffled"),
}


# ---------------------------------------------------------------- where a study stands


def states(store: Store) -> dict[str, str]:
    """Run → "done", "published", "no scores" (made only for its weights), "to do", or "failed: …" with the error."""
    needed = store.needed(list(store.plan))
    return {name: _state(store, name, name in needed) for name in store.plan}


def _state(store: Store, name: str, missing: bool) -> str:
    if not missing:
        stored = store.find(name)
        return "no scores" if stored is None else "published" if stored.scores_only else "done"
    error = partial_folder(store, name) / ERROR_FILE
    if not error.exists():
        return "to do"
    return f"failed: {error.read_text(encoding='utf-8').strip().splitlines()[-1]}   ({error})"


def unfinished_line(study: str, states: dict[str, str], pages: Sequence[str] = ()) -> str:
    """What of a study is not made, and what failed, on one line; "" where all is there."""
    missing = {name: state for name, state in states.items() if state.startswith(("to do", "failed"))}
    names = ", ".join([*([f"{len(missing)} of {len(states)} runs"] if missing else []), *pages])
    failed = [f"; {name} {state}" for name, state in missing.items() if state != "to do"]
    said = f"{names}{''.join(failed[:1])}; `as2 plan {study}` lists the runs"
    return names and f"study {study}: not all is made, left: {said}"


# ---------------------------------------------------------------- devices


def gpus() -> list[str]:
    """The GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else all that the driver lists."""
    listed = range(len(list(Path("/proc/driver/nvidia/gpus").glob("*"))))
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, listed)))
    return [name.strip() for name in names.split(",") if name.strip() not in ("", "-1")]


def take_gpu() -> None:
    """Leaves a worker of a study one of several GPUs, by its number.  To be called before CUDA starts."""
    names, number = gpus(), os.environ.get(WORKER)
    if number and len(names) > 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = names[int(number) % len(names)]
