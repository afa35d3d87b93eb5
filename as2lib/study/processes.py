"""How a study's processes hear signals: they are reset where one starts, and an interrupt ends this machine's jobs."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 10.0  # seconds that a job has to save what it has


def hear_signals() -> None:
    """Undo what a shell's background job passes on: it ignores SIGINT, and so would its children."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


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
    """SIGTERM to every process below this one, and to those that start meanwhile, until this one ends; then SIGKILL."""
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
