"""A transformer that reads question and candidate together: any sequence classifier of transformers; knows no loss.

b pairs · c = 2 classes
"""

from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PretrainedConfig, PreTrainedModel

from as2lib.data.pretrained import folder_of, open_pretrained, read_config
from as2lib.data.sets import note
from as2lib.models import first_token
from as2lib.models.logits import Float32Linear

CLASSES = 2  # 0: does not answer the question, 1: answers it
CORRECT = ("correct", "relevant", "entailment", "positive", "true", "yes", "label_1")  # names that label 0 may not have
BACKBONES = ("electra", "bert", "roberta", "mpnet")  # families whose encoders other models are made from
OWN_ATTENTION = ("deberta-v2", "mpnet")  # families with one kind of attention, which adds a bias of its own


def build(name_or_config: str | Path | dict[str, Any] | PretrainedConfig, layers: int | None = None) -> PreTrainedModel:
    """A cross-encoder with two classes, the start of a fit; a new classifier comes from torch's global generator.

    name_or_config: a hub name (`name@revision` pins one, `params/local.yaml` may map it to a folder), a local folder,
    or a configuration (an object, or its fields with `model_type`) to start from nothing; of any family that
    `AutoModelForSequenceClassification` knows.  layers: keep only the first layers of the pretrained encoder.
    A model with one label, z, starts with the logits (0, z); of more than two the last layer starts anew, which a line
    says.
    Raises ValueError as `models.load`, but for a classifier that is missing or of another shape.
    """
    if isinstance(name_or_config, dict):
        name_or_config = AutoConfig.for_model(**name_or_config)
    if isinstance(name_or_config, PretrainedConfig):
        config = deepcopy(name_or_config)
        config.num_labels, config.dtype = CLASSES, torch.float32
        return for_ranking(AutoModelForSequenceClassification.from_config(config, trust_remote_code=False))
    config = configuration(name_or_config)
    if layers is not None:
        config.num_hidden_layers = layers
    return open_model(name_or_config, config, start=True)


def for_ranking(model: nn.Module) -> nn.Module:
    """The same model, whose last layer computes the first token alone, and whose classifier computes in float32.

    Tensors and their names stay.  A second call changes nothing.
    Raises ValueError where the name of label 0 says that it is the correct one.
    """
    config = getattr(model, "config", None)
    names = config.id2label if isinstance(config, PretrainedConfig) and config.num_labels == CLASSES else {0: ""}
    if str(names[0]).lower() in CORRECT:
        expected = f"expected label 1 to be the correct one, got {names}"
        raise ValueError(f"{config.name_or_path or type(model).__name__}: {expected}; exchange the last layer's rows")
    classify_in_float32(model)
    return first_token.reading(model)


def set_dropout(model: nn.Module, share: float) -> None:
    """Set the share of units that every dropout of a model drops while it trains."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share


def set_attention(model: nn.Module, kind: str) -> None:
    """Set how a model's parts compute attention, "eager" or "sdpa"; heads have configurations of their own."""
    for module in model.modules():
        config = getattr(module, "config", None)
        if isinstance(config, PretrainedConfig) and config.model_type not in OWN_ATTENTION:
            config._attn_implementation = kind


def classify_in_float32(model: nn.Module) -> None:
    """Let a classifier of transformers compute in float32 what is not its encoder's; any other model stays."""
    prefix = getattr(model, "base_model_prefix", "")
    if prefix and hasattr(model, prefix) and not type(model).__module__.startswith("as2lib."):
        for name, part in model.named_modules():
            if name.partition(".")[0] != prefix and type(part) is nn.Linear:
                part.__class__ = Float32Linear  # a linear layer in all but its `forward`; weights and names stay


class BackboneConfig(PretrainedConfig):
    """Of a model made from an encoder: `backbone` is the configuration of that encoder, all its layers."""

    backbone: dict[str, Any] | PretrainedConfig | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        backbone = self.backbone or AutoConfig.for_model("electra")
        fields = backbone.to_dict() if isinstance(backbone, PretrainedConfig) else backbone
        not_kept = ("_name_or_path", "dtype", "auto_map")  # a folder here; a file's precision; code of its own
        self.backbone = {name: value for name, value in fields.items() if name not in not_kept}
        if (family := self.backbone["model_type"]) not in BACKBONES:
            raise ValueError(f"backbone: expected one of {', '.join(BACKBONES)}, got {family}")
        self.initializer_range = self.backbone.get("initializer_range", 0.02)
        whole = AutoConfig.for_model(**self.backbone)  # with transformers' values of what is not given
        self.hidden_size, self.num_hidden_layers = whole.hidden_size, whole.num_hidden_layers
        super().__post_init__(**{"pad_token_id": self.backbone.get("pad_token_id"), **kwargs})

    def part(self, layers: int) -> PretrainedConfig:
        """The backbone's configuration with so many layers, and this one's kind of attention where it has several."""
        config = AutoConfig.for_model(**{**self.backbone, "num_hidden_layers": layers, "num_labels": CLASSES})
        if config.model_type not in OWN_ATTENTION:
            config._attn_implementation = self._attn_implementation
        return config

    def encoder(self, layers: int) -> PreTrainedModel:
        """A new encoder of the backbone's family with so many layers, without a pooler."""
        config = self.part(layers)
        return AutoModel.from_config(config, **({} if config.model_type == "electra" else {"add_pooling_layer": False}))


def configuration(name: str | Path, classes: int | None = CLASSES) -> PretrainedConfig:
    """The configuration of a hub name or a folder, with the labels that its file names, or so many classes."""
    fields = read_config(folder_of(name))
    if not fields:
        expected = "a model with its config.json; a module of your own: Ranker.load(folder, model=Class)"
        raise ValueError(f"{name}: expected {expected}, as2 … --model package:Class; got none")
    config = open_pretrained(AutoConfig, name)
    if "id2label" not in fields and "label2id" in fields:  # which transformers passes over
        config.id2label = {int(number): label for label, number in fields["label2id"].items()}
        config.label2id = dict(fields["label2id"])
    elif not {"id2label", "num_labels"} & fields.keys():  # two plain labels are not saved, whatever the family's number
        config.num_labels = CLASSES
    if classes is not None:
        config.num_labels = classes
    return config


def open_model(name: str | Path, config: PretrainedConfig, start: bool = False) -> PreTrainedModel:
    """The model in float32, ready to rank.  start: of a fit, for which a classifier may be new.

    Raises ValueError for the first tensor that does not fit.
    """
    options = {"config": config, "dtype": torch.float32, "output_loading_info": True, "ignore_mismatched_sizes": True}
    model, report = open_pretrained(AutoModelForSequenceClassification, name, **options)

    def may_be_new(tensor: str) -> bool:  # of the classifier, and a pooler before it, which an encoder need not have
        part, _, rest = tensor.partition(".")
        return start and (part != model.base_model_prefix or "pooler" in rest.split("."))

    replaced = {tensor: shape for tensor, shape, _ in report["mismatched_keys"]}
    one_label = {tensor for tensor, shape in replaced.items() if may_be_new(tensor) and shape[0] == 1}
    if one_label:
        config.num_labels = 1
        weights = open_model(name, config).state_dict()
        config.num_labels = CLASSES
        for tensor in one_label:
            z = weights[tensor]
            model.state_dict()[tensor].copy_(torch.cat([torch.zeros_like(z), z]))
    for tensor, values in model.state_dict().items():
        if tensor in {*replaced, *report["missing_keys"]} and not may_be_new(tensor):
            shape = f"expected a tensor of shape {tuple(values.shape)}, got none"
            raise ValueError(f"{name}: {tensor}: {shape}, so it would score at random; train it first, by as2 train")
        if tensor in replaced and tensor not in one_label:
            note(f"{name} scores with another number of labels: a new classifier of two classes replaces {tensor}")
    return for_ranking(model)
