"""What a model of ours leaves on the hub: the card of its own folder, in place of transformers' automatic one."""

from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard
from transformers import PreTrainedModel

AUTOMATIC = "This model card has been automatically generated"  # what transformers' card says


def upload_with_card(self: PreTrainedModel, working_dir: str, *args: Any, **options: Any) -> Any:
    """As `PreTrainedModel._upload_modified_files`, the last step of `push_to_hub`, in whose place what we load has it.

    The card is that of the folder that the model was loaded from, where the hub has none that somebody wrote.
    """
    own, card = Path(self.config.name_or_path, "README.md"), Path(working_dir, "README.md")
    if own.is_file() and card.is_file() and AUTOMATIC in card.read_text(encoding="utf-8"):
        kept = ModelCard.load(own)
        kept.data.tags = list(dict.fromkeys([*(kept.data.tags or []), *(self.model_tags or [])]))
        kept.save(card)
    return PreTrainedModel._upload_modified_files(self, working_dir, *args, **options)
