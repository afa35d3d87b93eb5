"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

import warnings
from importlib import import_module
from typing import Any

__all__ = ["Ranker", "Study", "data", "fit", "load_pairs", "losses", "metrics", "models", "train"]
__version__ = "0.1.0"

warnings.filterwarnings("ignore", "IProgress not found")  # in a notebook tqdm then writes its bars as text
_HOMES = {"Ranker": "ranker", "Study": "papers", "load_pairs": "data.pairs", "train": "fit.loop"}


def __getattr__(name: str) -> Any:
    """What is imported where it is first used: planning a study takes neither torch nor pandas."""
    if name not in __all__:
        raise AttributeError(f"module 'as2lib' has no attribute {name!r}")
    module = import_module(f"as2lib.{_HOMES.get(name, name)}")
    return getattr(module, name) if name in _HOMES else module
