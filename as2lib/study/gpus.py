"""One GPU a fit: which there are, and taking one that no other process has."""

import os
import tempfile
import time
from functools import cache
from pathlib import Path

from filelock import FileLock

from as2lib.locks import take


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
