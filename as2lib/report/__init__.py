"""What a notebook shows and saves: numbered tables, figures and metrics under `reports/<study>/`, and its page."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from as2lib.report.output import Report


def begin(study: Any, notebook: str) -> "Report":
    """The output side of one notebook, such as "03_distillation": `report.show`, `.record`, `.findings`."""
    from as2lib.report.output import Report

    return Report(study, notebook)
