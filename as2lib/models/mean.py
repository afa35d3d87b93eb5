"""A family's own classifier over the mean of all real tokens, where it reads the first one else; knows no loss.

b pairs · n tokens · d hidden units · c = 2 classes
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from as2lib.models.cross_encoder import BackboneConfig, classify_in_float32
from as2lib.models.logits import register


class MeanConfig(BackboneConfig):
    """backbone: the configuration of a classifier that would read the first token, all its layers."""

    model_type = "mean"


@register
class MeanForSequenceClassification(PreTrainedModel):
    """A classifier of transformers, with its own dense layer, activation and output, that reads the mean of tokens.

    The model has a type of its own, so that nobody opens its folder as one that reads the first token.
    """

    config_class = MeanConfig
    base_model_prefix = "model"
    _supports_sdpa = True

    def __init__(self, config: MeanConfig):
        super().__init__(config)
        config.backbone["num_hidden_layers"] = config.num_hidden_layers  # fewer where the first alone are kept
        self.model = AutoModelForSequenceClassification.from_config(config.part(config.num_hidden_layers))
        read_mean(self.model.base_model.encoder)
        classify_in_float32(self.model)
        self.post_init()

    @classmethod
    def from_classifier(cls, classifier: PreTrainedModel) -> "MeanForSequenceClassification":
        """The same weights, whose classifier reads the mean from now on.  Raises ValueError for another family."""
        mean = cls(MeanConfig(backbone=classifier.config))
        mean.model.load_state_dict(classifier.state_dict())
        return mean.train(classifier.training)

    def forward(self, input_ids: Tensor, **inputs: Any) -> SequenceClassifierOutput:
        """As the classifier takes them: (b, n).  Returns logits (b, c), and a loss where labels (b,) are given."""
        return self.model(input_ids, **inputs)


def read_mean(encoder: nn.Module) -> nn.Module:
    """The encoder, whose last hidden state is the mean over real tokens, (b, 1, d): what reads its first reads that."""
    encoder.layer[-1].register_forward_hook(_mean_of_output, with_kwargs=True)
    return encoder


def _mean_of_output(_: nn.Module, arguments: tuple, named: dict[str, Any], output: Any) -> Any:
    """Of a layer's hidden states, or a tuple of them (MPNet's).  Its mask is as transformers makes it, or (b, n)."""
    hidden = output[0] if isinstance(output, tuple) else output  # (b, n, d)
    mask = arguments[1] if len(arguments) > 1 else named.get("attention_mask")
    if mask is not None and mask.dim() == 4:
        mask = mask[:, 0, 0] if mask.dtype == torch.bool else mask[:, 0, 0] == 0
    mean = hidden.mean(dim=1) if mask is None else mean_of_tokens(hidden, mask)  # (b, d)
    return (mean[:, None],) if isinstance(output, tuple) else mean[:, None]


def mean_of_tokens(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    """(b, n, d) → (b, d).  attention_mask: (b, n), 1 at real tokens."""
    real = attention_mask.unsqueeze(-1).to(hidden.dtype)  # (b, n, 1)
    return (hidden * real).sum(dim=1) / real.sum(dim=1)
