"""A run to make, with what it is made from, and the lock under which one process at a time makes it."""

import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from as2lib.paths import work_folder
from as2lib.study.run import Run
from as2lib.study.store import Store, StoredRun


@dataclass(frozen=True)
class Job:
    """A run to make, and what making it needs.

    store: of its study.  run: with the settings that a search picked.
    parents: role → stored runs, with weights where they are here.
    folder: where everything is written.
    """

    store: Store
    run: Run
    parents: dict[str, list[StoredRun]]
    folder: Path


def lock(name: str, what: str) -> FileLock:
    """A lock that the system releases when its holder ends; a line says so where another process holds it."""
    folder = work_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    held = FileLock(folder / f"{name}.lock")
    try:
        held.acquire(blocking=False)
    except Timeout:
        print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
        held.acquire()
    return held
