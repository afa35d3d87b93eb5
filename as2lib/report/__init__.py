"""What a notebook shows and saves: numbered tables, figures and metrics under `reports/<study>/`, and its page."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from as2lib.report.output import Report


def begin(study: Any, notebook: str) -> "Report":
    """The output side of one notebook, such as "03_distillation": `report.show`, `.figure`, `.record`, `.findings`."""
    from as2lib.report.output import Report

    return Report(study, notebook)


def __getattr__(name: str) -> Any:
    """`figures` is imported when asked for: a study's graph and its check draw nothing."""
    if name == "figures":
        from importlib import import_module

        return import_module("as2lib.report.figures")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
