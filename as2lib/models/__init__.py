"""Models that score pairs, one a module; importing this alone costs nothing.

After `import as2lib.models.auto`, transformers' auto classes open the folders of these models; `load` does without.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # what fits start from: the smallest that ranks well
NOTHING = "nothing"  # in its place: a small new one
LEARNING_RATES = {True: 5e-4, False: 4e-5}  # the highest learning rate, by whether a model starts from nothing


def load(name: str | Path) -> "PreTrainedModel":
    """Any model of this library, or any sequence classifier of transformers: `cross_encoder.load`."""
    from as2lib.models import auto, cross_encoder  # noqa: F401  (auto: so that transformers knows those of this library)

    return cross_encoder.load(name)
