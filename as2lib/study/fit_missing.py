"""Makes what is missing: parents first, one run once, by any number of processes that share a disk."""

import os
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

from filelock import Timeout

from as2lib.study.store import ERROR_FILE, Store

WORKER = "AS2_WORKER"  # of a study's workers: its number
WAIT_SECONDS = 0.5  # until a worker with nothing to take looks again


def fit_missing(store: Store, names: Iterable[str], model: bool = False) -> list[str]:
    """Make what is missing for the scores of some runs, or for their models; returns the names of what can't be made.

    A run that another process makes is waited for.  What fails is tried once, and what is made from it is left.
    Prints a line for each run that was made, or failed.
    """
    began = time.time()
    needed = [store.plan[name] for name in store.needed(names, model)]
    left, failed = {run.name: run for run in needed}, []
    if not needed and os.environ.get(WORKER, "0") == "0":  # of several workers one says it
        print("nothing to make: what is asked for is here, or its scores are published")
    if WORKER in os.environ and len(devices := gpus()) > 1:  # each worker has one, before CUDA starts
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[int(os.environ[WORKER]) % len(devices)]
    while left:
        for name, run in left.items():
            parents, error = {parent.name for parent in run.parent_runs()}, store.partial(run) / ERROR_FILE
            failed_elsewhere = error.exists() and error.stat().st_mtime >= began
            if failed_elsewhere or not parents.isdisjoint(failed):
                failed.append(name)
                break
            if not parents.isdisjoint(left):
                continue
            started = time.time()
            try:
                stored = store.make(run, wait=False, progress=name)
            except Timeout:
                continue  # another worker is at it
            except Exception as problem:
                failed.append(name)
                reason = traceback.format_exception_only(problem)[-1].splitlines()[0]
                print(f"failed: {name}: {reason}   ({error})", flush=True)
                break
            if stored:
                dev = stored.facts.get("dev_MAP")
                line = f"{name}, {time.time() - started:.0f} s" + ("" if dev is None else f", dev MAP {100 * dev:.1f}")
                print(f"{len(needed) - len(left) + 1}/{len(needed)} {line}", flush=True)
            break
        else:
            time.sleep(WAIT_SECONDS)
            continue
        del left[name]
    return failed


def gpus() -> list[str]:
    """The GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else all that the driver lists."""
    listed = range(len(list(Path("/proc/driver/nvidia/gpus").glob("*"))))
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, listed)))
    return [name.strip() for name in names.split(",") if name.strip() not in ("", "-1")]
