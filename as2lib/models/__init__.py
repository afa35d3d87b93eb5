"""Models that score pairs, one a module; importing this alone costs nothing.

After `import as2lib.models.auto`, transformers' auto classes open the folders of these models; `load` does without.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def load(name: str | Path) -> "PreTrainedModel":
    """Any model of this library, or any sequence classifier of transformers: `cross_encoder.load`."""
    from as2lib.models import auto, cross_encoder  # noqa: F401  (auto: so that transformers knows those of this library)

    return cross_encoder.load(name)
