"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers
    from as2lib import data, fit, losses, metrics, models
    from as2lib.data.pairs import load_pairs
    from as2lib.fit import train
    from as2lib.ranker import Ranker
    from as2lib.study.study import Study

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


def __dir__() -> list[str]:
    return __all__
