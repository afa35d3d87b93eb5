"""What a notebook shows and saves: numbered tables, figures and metrics under `reports/<study>/`, and its page."""

from as2lib.report.output import Report as begin

__all__ = ["begin"]
