"""Locks that the system releases when their holder ends: a file each, in `work/locks/` where no folder is named."""

import sys
from pathlib import Path

from filelock import FileLock, Timeout

from as2lib.paths import work_folder


def lock(name: str, what: str, folder: Path | None = None) -> FileLock:
    """A lock, held; where another process holds it, a line says that `what` is being made, and this one waits."""
    if held := take(name, folder):
        return held
    print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
    held = _file(name, folder)
    held.acquire()
    return held


def take(name: str, folder: Path | None = None) -> FileLock | None:
    """A lock, held; None where another process, or another caller here, holds it."""
    held = _file(name, folder)
    try:
        held.acquire(blocking=False)
    except Timeout:
        return None
    return held


def is_held(name: str, folder: Path | None = None) -> bool:
    """Whether anybody holds a lock."""
    if not (folder or work_folder() / "locks").joinpath(f"{name}.lock").exists():
        return False
    held = take(name, folder)
    if held:
        held.release()
    return held is None


def _file(name: str, folder: Path | None) -> FileLock:
    folder = folder or work_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / f"{name}.lock", mode=0o666)
