"""Models that score pairs, one a module; importing this alone costs nothing.

After `import as2lib.models.auto`, transformers' auto classes open the folders of these models; `load` does without.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # what fits start from: the smallest that ranks well
NOTHING = "nothing"  # in its place: a small new one
COUNTING = ("word_overlap", "reciprocal_rank", "overlap_then_rank", "bm25")  # rankers, functions of `lexical`
COSINE = "cosine:"  # before the name of a sentence encoder
LEARNING_RATES = {True: 5e-4, False: 4e-5}  # the highest learning rate, by whether a model starts from nothing


def load(name: str | Path) -> "PreTrainedModel":
    """A model of this library, or a sequence classifier of transformers with one or two labels, in float32.

    name: a folder that `save_pretrained` left, or a hub name.
    Raises ValueError that names the folder and the first tensor that is missing or of another shape; and where a model
    has more than two labels, or a saved prompt.
    """
    from as2lib.data.pretrained import folder_of
    from as2lib.models import auto, cross_encoder  # noqa: F401  (auto: so that transformers knows those of this library)

    config = cross_encoder.configuration(name, classes=None)
    prompts = folder_of(name) / "config_sentence_transformers.json"
    if prompts.exists() and json.loads(prompts.read_text(encoding="utf-8")).get("default_prompt_name"):
        expected = f"expected no saved prompt, got one; remove {prompts.name}, and put it in front yourself"
        raise ValueError(f"{name}: {expected}")
    if config.num_labels > cross_encoder.CLASSES:
        raise ValueError(f"{name}: expected a model of 1 or 2 labels, got one of {config.num_labels}")
    return cross_encoder.open_model(name, config)
