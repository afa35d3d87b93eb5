"""What a notebook shows and saves: numbered tables, figures and metrics under `reports/<study>/`, and its page."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from as2lib.papers import Study
    from as2lib.report.output import Report


def begin(study: "Study", notebook: str, save: bool | str = False) -> "Report":
    """A notebook's `Report`."""
    from as2lib.report.output import Report  # with seaborn, which no command needs

    return Report(study, notebook, save)
