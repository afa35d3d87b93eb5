"""Which errors are about what a user gave, and their line; all others show their traceback."""

import traceback
from pathlib import Path

from as2lib.paths import PACKAGE


def line_of(error: Exception) -> str | None:
    """The line of a file's error, or of a ValueError or KeyError that this package raised; None for any other."""
    raised_in = Path(traceback.extract_tb(error.__traceback__)[-1].filename).resolve()
    if isinstance(error, OSError) or (isinstance(error, ValueError | KeyError) and raised_in.is_relative_to(PACKAGE)):
        return " ".join(str(error.args[0] if isinstance(error, KeyError) else error).split())
    return None
