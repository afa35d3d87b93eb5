"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks.

`import as2lib` imports neither torch nor transformers; `import as2lib.models` makes the models of this library known to
transformers' auto classes.
"""

import warnings
from typing import Any

__all__ = ["Study", "__version__"]
__version__ = "0.1.0"

# A plain progress bar is what the reports want: no widget that a rendered page could not show.
warnings.filterwarnings("ignore", message="IProgress not found")


def __getattr__(name: str) -> Any:
    """`Study` is imported when asked for: who ranks their own data needs none of what it brings in."""
    if name == "Study":
        from as2lib.study import Study

        return Study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
