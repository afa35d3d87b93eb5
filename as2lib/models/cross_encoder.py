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
from transformers.utils import logging

from as2lib.paths import model_origin

CLASSES = 2  # 0: does not answer the question, 1: answers it
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
STARTS_NEW = ("classifier.", "pooler.")  # what a pretrained encoder need not have


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
    return loaded(origin, revision, config, from_encoder=True)


def loaded(
    origin: str | Path, revision: str = "main", config: PretrainedConfig | None = None, from_encoder: bool = False
) -> PreTrainedModel:
    """The classifier in a folder, or of a hub name, with every tensor that its configuration asks for, and no other.

    config: default: the folder's own.  from_encoder: its classifier may be missing, and starts at random; what the file
    holds beyond (other heads, layers that `config` leaves out) is passed over.
    Raises ValueError, in one line, that names the file or the first tensor that is missing, not expected, of another
    shape or not finite; and where there are not two classes.
    """
    if Path(origin).is_dir():
        for names in (("config.json",), WEIGHTS):
            if not any((Path(origin) / name).exists() for name in names):
                raise ValueError(f"{origin}: expected a model's {' or '.join(names)}, got no such file")
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)  # its own report of what does not fit says less, in a table
    logging.disable_progress_bar()  # there would be one a model, gone in a moment
    try:
        if config is None:
            fields, _ = PretrainedConfig.get_config_dict(origin, revision=revision)
            if (labels := len(fields.get("id2label") or range(fields.get("num_labels", CLASSES)))) != CLASSES:
                raise ValueError(f"expected a model of {CLASSES} labels, got one of {labels}")
            config = AutoConfig.from_pretrained(origin, revision=revision)
        model, found = AutoModelForSequenceClassification.from_pretrained(
            origin, revision=revision, config=config, output_loading_info=True, ignore_mismatched_sizes=True
        )
    except Exception as error:  # of any kind: libraries parse what is there
        raise ValueError(f"{origin}: can't be loaded: {str(error).strip().partition(chr(10))[0]}") from None
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()
    if wrong := _first_wrong(model, found, from_encoder):
        raise ValueError(f"{origin}: {wrong}, which the configuration asks for; it would score at random")
    return model


def _first_wrong(model: PreTrainedModel, found: dict[str, Any], from_encoder: bool) -> str | None:
    """What is wrong with the first tensor that does not fit a model, in its order; None where all do."""
    shapes, prefix = {name: (came, asked) for name, came, asked in found["mismatched_keys"]}, model.base_model_prefix
    for name, tensor in model.state_dict().items():
        if name in shapes:
            return f"{name}: expected shape {tuple(shapes[name][1])}, got {tuple(shapes[name][0])}"
        starts_new = from_encoder and name.removeprefix(f"{prefix}.").startswith(STARTS_NEW)
        if name in found["missing_keys"] and not starts_new:
            return f"{name}: expected a tensor of shape {tuple(tensor.shape)}, got none"
        if tensor.is_floating_point() and not tensor.isfinite().all():
            return f"{name}: expected finite numbers, got nan or inf"
    if found["unexpected_keys"] and not from_encoder:
        return f"{min(found['unexpected_keys'])}: got a tensor beyond those"
    return found["error_msgs"][0] if found["error_msgs"] else None


def configuration(name: str | Path) -> PretrainedConfig:
    """The configuration of a hub name or a folder, with two classes."""
    origin, revision = model_origin(name)
    return AutoConfig.from_pretrained(origin, revision=revision, num_labels=CLASSES)


def tokenizer(name: str | Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a hub name or a folder."""
    origin, revision = model_origin(name)
    return AutoTokenizer.from_pretrained(origin, revision=revision)
