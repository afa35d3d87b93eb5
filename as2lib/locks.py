"""Locks that the system releases when their holder ends: a file each, in `work/locks/`."""

import sys

from filelock import FileLock, Timeout

from as2lib.paths import work_folder

SILENT_SECONDS = 2.0  # seconds that a process waits without a word


def file_lock(name: str) -> FileLock:
    folder = work_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / f"{name}.lock", mode=0o666, fallback_to_soft=False)


def lock(name: str, what: str) -> FileLock:
    """A lock, held; where another process holds it a line says that `what` is being made, and this one waits."""
    held = file_lock(name)
    try:
        held.acquire(timeout=SILENT_SECONDS)
    except Timeout:
        print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
        held.acquire()
    return held
