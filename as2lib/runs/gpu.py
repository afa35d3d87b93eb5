"""Which GPU a process computes on: one, however many it may use; must not import torch."""

import os
import tempfile
import time
from pathlib import Path

from filelock import FileLock, Timeout

DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder a GPU
PATIENCE = 5.0  # seconds between two looks
_held: list[FileLock] = []  # until the process ends


def gpus() -> list[str]:
    """The GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else all that the driver lists."""
    if (named := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in named.split(",") if name.strip() not in ("", "-1")]
    return [str(number) for number in range(len(list(DRIVER.glob("*"))))]


def take_one() -> None:
    """Leaves this process the first of its GPUs that no other process of this library has; waits while all are taken.

    To be called before CUDA starts.  Nothing happens where there is at most one, as in a job of a cluster, and where
    `torchrun` started the process, whose GPU has its LOCAL_RANK.
    """
    names = gpus()
    if len(names) < 2 or "LOCAL_RANK" in os.environ:
        return
    while True:
        for name in names:
            lock = FileLock(Path(tempfile.gettempdir()) / f"as2lib-gpu-{name}.lock", mode=0o666)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                continue
            _held.append(lock)
            os.environ["CUDA_VISIBLE_DEVICES"] = name
            return
        time.sleep(PATIENCE)
