"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

from typing import Any

__all__ = ["Study", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Study` is imported when asked for: who ranks their own data needs none of what it brings in."""
    if name == "Study":
        from as2lib.study.study import Study

        return Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
