"""Which errors a user can mend, and the line that says how; all others show their traceback."""

import traceback
from pathlib import Path

from as2lib.paths import PACKAGE

MENDABLE = (OSError, ModuleNotFoundError)  # whoever raises them: a file, a network, a package that is not there
OUR_ERRORS = (ValueError, KeyError)  # where a line of this package raises them, and no library or user's module
MEMORY_ERRORS = ("OutOfMemoryError", "AcceleratorError", "MemoryError")


def line_of(error: BaseException) -> str | None:
    """What the user can mend, on one line; None for an error of the user's own code, or of ours."""
    if type(error).__name__ in MEMORY_ERRORS:
        return f"out of memory: {first_line(error)}; a smaller --batch-size or --max-length takes less"
    frames = traceback.extract_tb(error.__traceback__)
    raised_here = bool(frames) and Path(frames[-1].filename).resolve().is_relative_to(PACKAGE)
    if isinstance(error, MENDABLE) or (isinstance(error, OUR_ERRORS) and raised_here):
        return first_line(error)
    return None


def first_line(error: BaseException) -> str:
    """An error's text on one line, with the file that an OSError names."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    return " ".join(str(text).split()) or type(error).__name__
