"""Locks that the system releases when their holder ends: a file each, in `work/locks/` where no folder is named."""

import sys
from pathlib import Path

from filelock import FileLock, Timeout

from as2lib.paths import work_folder

SILENT_SECONDS = 2.0  # seconds that a process waits without a word


def lock(name: str, what: str) -> FileLock:
    """A lock, held; where another process holds it a line says that `what` is being made, and this one waits."""
    file_lock = take(name)
    if file_lock is None:
        file_lock = _file(name)
        try:
            file_lock.acquire(timeout=SILENT_SECONDS)
        except Timeout:
            print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
            file_lock.acquire()
    return file_lock


def take(name: str, folder: Path | None = None) -> FileLock | None:
    """A lock, held; None where another process, or another caller here, holds it.

    Raises OSError where the disk has no such locks: a file in their place would outlive its holder.
    """
    file_lock = _file(name, folder)
    try:
        file_lock.acquire(blocking=False)
    except Timeout:
        return None
    except OSError as error:
        way_out = "its disk must be mounted with flock, or AS2_ROOT name a folder on another disk"
        raise OSError(f"{file_lock.lock_file}: can't be locked: {error.strerror}; {way_out}") from None
    return file_lock


def is_held(name: str) -> bool:
    file_lock = take(name)
    if file_lock:
        file_lock.release()
    return file_lock is None


def _file(name: str, folder: Path | None = None) -> FileLock:
    folder = folder or work_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / f"{name}.lock", mode=0o666, fallback_to_soft=False)
