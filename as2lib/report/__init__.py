"""What a notebook leaves behind: numbered tables, figures and metrics under `reports/<study>/`, and its page."""

from typing import Any

OFFERED = ("Report", "bullets", "changes", "provenance")


def __getattr__(name: str) -> Any:
    """What writes tables and figures is imported when asked for: a study's graph, its pages and its check draw none."""
    if name in OFFERED:
        from as2lib.report import output

        return getattr(output, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
