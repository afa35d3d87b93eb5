"""A run to make, with what it is made from."""

from dataclasses import dataclass
from pathlib import Path

from as2lib.study.run import Run
from as2lib.study.store import Store, StoredRun


@dataclass(frozen=True)
class Job:
    """A run to make, and what making it needs.

    store: of its study.  run: with the settings that a search picked.
    parents: role → stored runs, with weights where they are here.
    folder: where everything is written.  progress: whether a fit shows its bar.
    """

    store: Store
    run: Run
    parents: dict[str, list[StoredRun]]
    folder: Path
    progress: bool = False
