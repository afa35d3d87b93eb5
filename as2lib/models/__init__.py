"""Models that score pairs; a model knows no loss."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def load(folder: str | Path) -> "PreTrainedModel":
    """Any model of this library from a folder that `save_pretrained` left, of which every tensor has to be there.

    Raises what `cross_encoder.loaded` raises.
    """
    from as2lib.models import cascade, compare_aggregate, cosinet, cross_encoder, mhs  # noqa: F401  (they register)

    return cross_encoder.loaded(folder)
