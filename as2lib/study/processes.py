"""A study's processes on one machine: a GPU for each fit, and how they hear signals."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from as2lib.locks import take

PATIENCE = 10.0  # seconds that a job has to save what it has


def gpus() -> list[str]:
    """The GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else all that the driver lists."""
    listed = range(len(list(Path("/proc/driver/nvidia/gpus").glob("*"))))
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, listed)))
    return [name.strip() for name in names.split(",") if name.strip() not in ("", "-1")]


@cache
def take_gpu() -> FileLock | None:
    """Leaves this process, until it ends, one of its GPUs that no other fit has; waits while all are taken.

    To be called before CUDA starts.  Nothing happens where there is at most one, as in a job of a cluster.
    """
    names = gpus()
    while len(names) > 1:
        for name in names:
            if lock := take(f"as2lib-gpu-{name}", Path(tempfile.gettempdir())):
                os.environ["CUDA_VISIBLE_DEVICES"] = name
                return lock
        time.sleep(5)
    return None


def put_back() -> None:
    """Put the Slurm job that this process belongs to, if any, back in the queue: it goes on where it was."""
    if job := os.environ.get("SLURM_JOB_ID"):
        subprocess.run(["scontrol", "requeue", job], check=False)


def end_jobs_on_interrupt(are_children: Callable[[], bool]) -> None:
    """From now on SIGINT to this process alone ends its jobs, too, as Ctrl-C in a terminal does.

    are_children: whether they are this process's; those of a cluster are cancelled by what submitted them.
    """

    def interrupt(number: int, frame: Any) -> None:
        if are_children():
            threading.Thread(target=_end_children, daemon=True).start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


def _end_children() -> None:
    """SIGTERM to every process below this one, and to those that start meanwhile; after `PATIENCE` SIGKILL."""
    import psutil

    started, children = time.monotonic(), set()
    while True:
        children |= set(psutil.Process().children(recursive=True))
        for child in children:
            try:
                child.terminate() if time.monotonic() - started < PATIENCE else child.kill()
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.5)
