"""A transformer that reads question and candidate together: an ordinary Hugging Face sequence classifier."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

from as2lib.paths import model_origin

CLASSES = 2  # 0: does not answer the question, 1: answers it


class BackboneConfig(PretrainedConfig):
    """Of a model made from an encoder: `backbone` is the configuration of that encoder, all its layers."""

    family = "electra"  # where no backbone is given

    def __init__(self, backbone: dict[str, Any] | PretrainedConfig | None = None, **kwargs: Any):
        if isinstance(backbone, PretrainedConfig):
            backbone = backbone.to_dict()
        fields = backbone or AutoConfig.for_model(self.family).to_dict()
        self.backbone = {name: value for name, value in fields.items() if name != "_name_or_path"}  # a folder here
        self.initializer_range = self.backbone.get("initializer_range", 0.02)
        self.hidden_size = self.backbone.get("hidden_size")
        super().__init__(**{"num_labels": CLASSES, "pad_token_id": self.backbone.get("pad_token_id"), **kwargs})


def build(name_or_config: str | Path | dict[str, Any] | PretrainedConfig, layers: int | None = None) -> PreTrainedModel:
    """A cross-encoder with two classes; a new classifier is initialised from torch's global generator.

    name_or_config: a hub name (`name@revision` pins one, `params/local.yaml` may map it to a folder), a local folder,
    or a configuration (an object, or its fields with `model_type`) to start from nothing.
    layers: keep only the first layers of the pretrained encoder.
    Raises ValueError where a configuration names no model type, or more layers are asked for than there are.
    """
    if isinstance(name_or_config, dict):
        if "model_type" not in name_or_config:
            raise ValueError(f'config: expected a "model_type", got the keys {", ".join(name_or_config)}')
        name_or_config = AutoConfig.for_model(**name_or_config)
    if isinstance(name_or_config, PretrainedConfig):
        config = deepcopy(name_or_config)
        config.num_labels = CLASSES
        return AutoModelForSequenceClassification.from_config(config)
    origin, revision = model_origin(name_or_config)
    config = configuration(name_or_config)
    if layers is not None:
        if not 1 <= layers <= config.num_hidden_layers:
            raise ValueError(f"layers: expected 1 to {config.num_hidden_layers}, what {origin} has; got {layers}")
        config.num_hidden_layers = layers
    return AutoModelForSequenceClassification.from_pretrained(origin, revision=revision, config=config)


def configuration(name: str | Path) -> PretrainedConfig:
    """The configuration of a hub name or a folder, with two classes."""
    origin, revision = model_origin(name)
    return AutoConfig.from_pretrained(origin, revision=revision, num_labels=CLASSES)


def tokenizer(name: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a hub name or a folder."""
    origin, revision = model_origin(name)
    return AutoTokenizer.from_pretrained(origin, revision=revision)
