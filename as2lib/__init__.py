"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

import sys
import warnings
from typing import Any

from as2lib import models

__all__ = ["Study", "__version__"]
__version__ = "0.1.0"

# A plain progress bar is what the reports want: no widget that a rendered page could not show.
warnings.filterwarnings("ignore", message="IProgress not found")

if models.WhenTransformersComes.MODULE in sys.modules:
    models.announce()
else:
    sys.meta_path.insert(0, models.WhenTransformersComes())


def __getattr__(name: str) -> Any:
    """`Study` is imported when asked for: who ranks their own data needs none of what it brings in."""
    if name == "Study":
        from as2lib.study import Study

        return Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
