"""Which errors a user can mend, and the line that says how; all others show their traceback."""

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from as2lib.paths import PACKAGE

LIBRARIES = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
ALWAYS = (OSError, ModuleNotFoundError)  # whoever raises them: a file, a network, a package that is not there
OURS = (ValueError, KeyError)  # where a line of this package raises them, with a text


def line_of(error: BaseException) -> str | None:
    """What the user can mend, on one line; None for an error of the user's own code, or of ours.

    AS2_TRACEBACK=1 in the environment shows every traceback.
    """
    if os.environ.get("AS2_TRACEBACK") or raised_by_user(error.__traceback__):
        return None
    if type(error).__name__ in ("OutOfMemoryError", "AcceleratorError") or isinstance(error, MemoryError):
        return f"out of memory: {first_line(error)}; a smaller --batch-size or --max-length takes less"
    if isinstance(error, ALWAYS) or (isinstance(error, OURS) and raised_here(error.__traceback__)):
        return first_line(error)
    return None


def first_line(error: BaseException) -> str:
    """An error's text on one line, with the file that an OSError names."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    line = " ".join(str(text).split())
    return line or type(error).__name__


def raised_by_user(trace: TracebackType | None) -> bool:
    """Whether code of the user's own, such as a loss, was at work: a file of neither this package nor a library."""
    return any(is_users(Path(frame.filename)) for frame in traceback.extract_tb(trace))


def is_users(file: Path) -> bool:
    if str(file).startswith("<") or not file.is_absolute():
        return False
    file = file.resolve()
    entry = Path(sys.argv[0]).resolve() if sys.argv and sys.argv[0] else None
    return file != entry and not any(file.is_relative_to(folder) for folder in (PACKAGE, *LIBRARIES))


def raised_here(trace: TracebackType | None) -> bool:
    """Whether a line of this package raised an error, and no library that it called."""
    frames = traceback.extract_tb(trace)
    return bool(frames) and Path(frames[-1].filename).resolve().is_relative_to(PACKAGE)
