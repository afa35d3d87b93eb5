"""A progress bar over runs that leaves nothing behind in a saved notebook."""

import io
import sys
from collections.abc import Iterable

from tqdm import tqdm


def bar(names: Iterable[str], shown: bool) -> tqdm:
    """A bar over the names of runs: on the terminal, or in a notebook's cell, where its line is replaced and at last
    removed."""
    names = list(names)
    return tqdm(
        names, disable=not shown or not names, unit="run", leave=False, file=_Cell() if _in_notebook() else None
    )


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


class _Cell(io.TextIOBase):
    """Shows the last line written in one output of the cell."""

    def __init__(self):
        self.shown = None

    def write(self, text: str) -> int:
        from IPython.display import display, update_display

        line = {"text/plain": text.strip()}
        if self.shown is None and text.strip():
            self.shown = display(line, raw=True, display_id=True).display_id
        elif self.shown and text.strip("\n"):
            update_display(line, raw=True, display_id=self.shown)
        return len(text)
