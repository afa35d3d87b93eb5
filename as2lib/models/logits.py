"""What all models share: two logits, in float32, what holds them, and the door to transformers; knows none of them.

b pairs · c = 2 classes
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel
from transformers.utils import ModelOutput

Model = TypeVar("Model", bound=type[PreTrainedModel])


@dataclass
class RankerOutput(ModelOutput):
    """What a model with several classifiers returns: their logits, (b, k, c) of heads or (b, e, c) of exits, beside."""

    loss: Tensor | None = None
    logits: Tensor | None = None
    head_logits: Tensor | None = None
    exit_logits: Tensor | None = None


def register(model: Model) -> Model:
    """The same class, which transformers' auto classes know from now on, by its configuration."""
    AutoConfig.register(model.config_class.model_type, model.config_class, exist_ok=True)
    AutoModelForSequenceClassification.register(model.config_class, model, exist_ok=True)
    return model


def part_of(output: Any, name: str = "logits") -> Tensor | None:
    """What a model's output holds under a name: a key of a mapping, or an attribute of any object; None without it."""
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def logits_of(output: Any) -> Tensor:
    """A model's logits, (b, c).  Raises ValueError where its output has none of that name."""
    if (logits := part_of(output)) is None:
        raise ValueError(f"model: expected an output with `logits` (b, 1 or 2), got {type(output).__name__}")
    return two_class_logits(logits)


def two_class_logits(logits: Tensor) -> Tensor:
    """(…, c) logits of a ranker: those of one label, (…, 1), are z, and become (0, z), whose softmax is sigmoid(z)."""
    return torch.cat([torch.zeros_like(logits), logits], dim=-1) if logits.shape[-1] == 1 else logits


class Float32Linear(nn.Linear):
    """A linear layer that computes in float32 under autocast too: in bf16 one question in eight would have ties."""

    def forward(self, features: Tensor) -> Tensor:
        device = "cpu" if features.is_meta else features.device.type  # autocast knows no device without numbers
        with torch.autocast(device, enabled=False):
            bias = None if self.bias is None else self.bias.float()
            return functional.linear(features.float(), self.weight.float(), bias)
