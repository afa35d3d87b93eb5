"""A study: its parameters, its runs and where they are kept, and what their scores say."""

from typing import Any


def __getattr__(name: str) -> Any:
    """`Study` is imported when asked for: its parts, such as what a run is, need none of what it brings in."""
    if name == "Study":
        from as2lib.study.study import Study

        return Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
