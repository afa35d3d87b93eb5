"""Which GPU a process computes on: one, however many the machine has; must not import torch."""

import os
import tempfile
import time
from pathlib import Path

from filelock import FileLock, Timeout

DRIVER = Path("/proc/driver/nvidia/gpus")  # a folder a GPU
_held: list[FileLock] = []  # until the process ends


def take_one(patience: float = 5.0) -> None:
    """Leaves this process the first GPU that no other process of this library has; waits while all are taken.

    To be called before CUDA starts.  Nothing happens where there is at most one GPU, or where the caller chose by
    CUDA_VISIBLE_DEVICES, as a cluster's scheduler does.  patience: seconds between two looks.
    """
    numbers = range(len(list(DRIVER.glob("*"))))
    if len(numbers) < 2 or "CUDA_VISIBLE_DEVICES" in os.environ:
        return
    while True:
        for number in numbers:
            lock = FileLock(Path(tempfile.gettempdir()) / f"as2lib-gpu-{number}.lock", mode=0o666)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                continue
            _held.append(lock)
            os.environ["CUDA_VISIBLE_DEVICES"] = str(number)
            return
        time.sleep(patience)
