"""Makes what is missing: parents first, one run once, also when two processes want it.

A run is written to <folder>.partial and renamed whole, done.json last: a kill loses the steps since its checkpoint.
"""

import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from as2lib.locks import lock
from as2lib.study import derived
from as2lib.study.bundles import Bundle
from as2lib.study.processes import put_back, take_gpu
from as2lib.study.store import Store, Task, git_commit, write_json

MAKE_NOTHING = "AS2_MAKE_NOTHING"  # set in the notebooks of a study's graph, whose runs its groups make
ERROR = "error.txt"  # in the folder of a run that failed: the error's last line
CHECKPOINT = "checkpoint"  # in a run's folder while it is made


def make_all(
    store: Store, names: list[str], model: bool = False, say: Callable[[str], None] | None = None
) -> list[str]:
    """Make the runs that are missing for the scores of some runs, or for their models; returns the names of those made.

    say: called with a line for each run that was made; None: bars on a terminal and in a notebook.
    """
    missing = list(store.needed(names, model))
    if missing and os.environ.get(MAKE_NOTHING):
        raise FileNotFoundError(f"not made yet: {missing[0]}; `as2 fit {store.study.study} {missing[0]}` makes it")
    from tqdm.auto import tqdm

    made, bars = [], say is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    for place, name in enumerate(tqdm(missing, unit="run", leave=False, disable=not bars), 1):
        started = time.perf_counter()
        if make(store, name, bars):
            made.append(name)
            if say:
                facts, seconds = store.find(name).facts, time.perf_counter() - started
                dev = f"   dev MAP {100 * facts['dev_MAP']:5.1f}" if facts.get("dev_MAP") is not None else ""
                how = f"{seconds:7.1f} s   {facts.get('precision', ''):<7}{dev}"
                say(f"{place:>4} of {len(missing)}  {name:<36}{how}".rstrip())
    return made


def make_job(store: Store, job: Bundle, say: Callable[[str], None]) -> list[str]:
    """Make the runs of a job; one that fails keeps none from being made but those that are made from it.

    Returns a line for each run that failed.  Where the job's time is up (SIGTERM), it is put back in the queue if it
    came any further.
    """
    failures: dict[str, str] = {}
    began = time.time()
    for name, weights in job.runs.items():
        broken = [run.name for run in store.planned(name).ancestors() if run.name in failures]
        if broken:
            failures[name] = f"{name}: {broken[0]} failed"
            continue
        try:
            make_all(store, [name], weights, say)
        except SystemExit:
            paths = [partial_folder(store, run) / CHECKPOINT for run in job.runs]
            paths += [store.folder(run) / "done.json" for run in job.runs]
            if any(path.exists() and path.stat().st_mtime >= began for path in paths):
                put_back()
            raise
        except Exception as error:
            traceback.print_exc()
            failures[name] = f"{name}: {_last_line(error)}"
    return list(failures.values())


def make(store: Store, name: str, progress: bool = False) -> bool:
    """Make one run whose parents are made; False where another process made it meanwhile."""
    run, folder, partial = store.planned(name), store.folder(name), partial_folder(store, name)
    with lock(folder.name, name):
        if store.find(name, model=run.kind == "fit"):
            return False
        (partial / ERROR).unlink(missing_ok=True)
        write_json(partial / "spec.json", {"name": name, "identity": store.identity(name), **store.ingredients(name)})
        parents = {role: [store.find(parent.name) for parent in runs] for role, runs in run.parents.items()}
        try:
            facts = MAKERS[run.kind](Task(store, run, parents, partial, progress))
        except Exception as error:
            (partial / ERROR).write_text(_last_line(error) + "\n", encoding="utf-8")
            raise
        write_json(partial / "done.json", {"identity": store.identity(name), "commit": git_commit(), "facts": facts})
        shutil.rmtree(folder, ignore_errors=True)  # one without weights, or of which a file was removed
        os.replace(partial, folder)
        (folder / CHECKPOINT).unlink(missing_ok=True)  # only now: until here a killed fit goes on from it
    return True


def partial_folder(store: Store, name: str) -> Path:
    """Where a run is written until it is whole."""
    return store.folder(name).with_suffix(".partial")


def _last_line(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip().splitlines()[-1]


def _with_torch(task: Task) -> dict[str, Any]:
    """A fit, or a model's scores over shuffled lists, on a GPU of its own where there is one."""
    take_gpu()
    from as2lib.study import fitting

    return fitting.fit(task) if task.run.kind == "fit" else fitting.score_shuffled(task)


def _ranker(task: Task) -> dict[str, Any]:
    take_gpu()
    from as2lib.study import taken

    return taken.ranker(task)


MAKERS = {
    "lexical": derived.lexical,
    "ranker": _ranker,
    "ensemble": derived.ensemble,
    "fit": _with_torch,
    "shuffled": _with_torch,
}
