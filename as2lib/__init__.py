"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

import warnings
from typing import TYPE_CHECKING

from as2lib import lazy

if TYPE_CHECKING:  # for editors and type checkers
    from as2lib import data, fit, losses, metrics, models
    from as2lib.data.pairs import load_pairs
    from as2lib.fit import train
    from as2lib.ranker import Ranker
    from as2lib.study.study import Study

__all__ = ["Ranker", "Study", "data", "fit", "load_pairs", "losses", "metrics", "models", "train"]
__version__ = "0.1.0"

warnings.filterwarnings("ignore", "IProgress not found")  # in a notebook tqdm then writes its bars as text
_names = {".ranker": "Ranker", ".fit": "train", ".data.pairs": "load_pairs", ".papers": "Study"}
_rooms = "data fit losses metrics models papers report study".split()
__getattr__, __dir__, _ = lazy.names(__name__, _names, _rooms)
