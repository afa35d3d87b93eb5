"""CERBERUS, the multiple-heads student (MHS): one encoder body, k ranking heads; knows no loss and no teacher."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.masking_utils import create_bidirectional_mask
from transformers.utils import ModelOutput

from as2lib.models.cross_encoder import CLASSES, build

# b pairs in a batch · k heads · n tokens · d hidden units · c = 2 classes
BACKBONES = ("electra", "bert", "roberta")


class MHSConfig(PretrainedConfig):
    """The shape B_body kH_h of a multiple-heads student.

    backbone: the configuration of the encoder it was made from, all its layers.
    body: layers shared by the heads.  heads: how many; each has the backbone's other layers and a classifier.
    combine: "probability" averages the heads' softmaxes, "logit" their logits.
    """

    model_type = "mhs"

    def __init__(
        self,
        backbone: dict[str, Any] | PretrainedConfig | None = None,
        body: int = 11,
        heads: int = 3,
        combine: str = "probability",
        **kwargs: Any,
    ):
        if isinstance(backbone, PretrainedConfig):
            backbone = backbone.to_dict()
        self.backbone = backbone or AutoConfig.for_model("electra").to_dict()
        self.body, self.heads, self.combine = body, heads, combine
        self.initializer_range = self.backbone.get("initializer_range", 0.02)
        self.hidden_size = self.backbone.get("hidden_size")
        self.num_hidden_layers = self.backbone.get("num_hidden_layers")
        super().__init__(**{"num_labels": CLASSES, "pad_token_id": self.backbone.get("pad_token_id"), **kwargs})

    def check(self) -> None:
        """Raises ValueError where no such student can be built."""
        family, depth = self.backbone["model_type"], self.num_hidden_layers
        if family not in BACKBONES:
            raise ValueError(f"backbone: expected one of {', '.join(BACKBONES)}, got {family}")
        if not 1 <= self.body < depth:
            raise ValueError(f"body: expected 1 to {depth - 1} of the backbone's {depth} layers, got {self.body}")
        if self.heads < 1:
            raise ValueError(f"heads: expected at least 1, got {self.heads}")
        if self.combine not in ("probability", "logit"):
            raise ValueError(f'combine: expected "probability" or "logit", got {self.combine!r}')

    def layers(self, count: int) -> PretrainedConfig:
        """The backbone's configuration with `count` layers."""
        fields = {**self.backbone, "num_hidden_layers": count, "num_labels": CLASSES}
        config = AutoConfig.for_model(**fields)
        config._attn_implementation = self._attn_implementation
        return config


@dataclass
class MHSOutput(ModelOutput):
    """logits: (b, c), the heads combined.  head_logits: (b, k, c)."""

    logits: torch.Tensor | None = None
    head_logits: torch.Tensor | None = None


class RankingHead(nn.Module):
    """The backbone's last layers and its classifier."""

    def __init__(self, config: PretrainedConfig):
        super().__init__()
        whole = AutoModelForSequenceClassification.from_config(config)
        self.encoder = whole.base_model.encoder
        self.pooler = getattr(whole.base_model, "pooler", None)  # BERT's classifier reads the pooled first token
        self.dropout = whole.dropout if self.pooler is not None else nn.Identity()
        self.classifier = whole.classifier

    def forward(self, shared: torch.Tensor, attention_mask: torch.Tensor | None) -> torch.Tensor:
        hidden = self.encoder(shared, attention_mask=attention_mask).last_hidden_state  # (b, n, d)
        if self.pooler is not None:
            hidden = self.dropout(self.pooler(hidden))  # (b, d)
        return self.classifier(hidden)  # (b, c)


class MHSForSequenceClassification(PreTrainedModel):
    """A multiple-heads student.  Source: CERBERUS, section 3.3, equation 5."""

    config_class = MHSConfig
    base_model_prefix = "body"
    _supports_sdpa = True
    _supports_flash_attn = True
    _supports_attention_backend = True

    def __init__(self, config: MHSConfig):
        super().__init__(config)
        config.check()
        family = config.backbone["model_type"]
        without_pooler = {} if family == "electra" else {"add_pooling_layer": False}
        self.body = AutoModel.from_config(config.layers(config.body), **without_pooler)
        head = config.layers(config.num_hidden_layers - config.body)
        self.heads = nn.ModuleList(RankingHead(head) for _ in range(config.heads))
        self.post_init()

    @classmethod
    def from_backbone(
        cls, model_or_name: PreTrainedModel | str | Path, body: int, heads: int, combine: str = "probability"
    ) -> "MHSForSequenceClassification":
        """A student whose heads each start as a copy of the last layers and of the classifier of a cross-encoder.

        model_or_name: a sequence classifier, or what `cross_encoder.build` takes.
        Raises ValueError for an unsupported family or a body that leaves no layer to the heads.
        """
        backbone = model_or_name if isinstance(model_or_name, PreTrainedModel) else build(model_or_name)
        config = MHSConfig(deepcopy(backbone.config), body, heads, combine)
        config.check()
        student = cls(config)
        whole = backbone.base_model
        embedding = {name: value for name, value in whole.state_dict().items() if not name.startswith("pooler.")}
        _copy_layers(student.body, embedding, range(body), "encoder.layer.")
        layers = range(body, config.num_hidden_layers)
        for head in student.heads:
            _copy_layers(head.encoder, whole.encoder.state_dict(), layers, "layer.")
            head.classifier.load_state_dict(backbone.classifier.state_dict())
            if head.pooler is not None:
                head.pooler.load_state_dict(whole.pooler.state_dict())
        return student.train(backbone.training)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **inputs: torch.Tensor
    ) -> MHSOutput:
        """input_ids, attention_mask (1 at real tokens), token_type_ids: (b, n).  Returns (b, c) and (b, k, c)."""
        shared = self.body(input_ids, attention_mask=attention_mask, **inputs).last_hidden_state  # (b, n, d)
        mask = create_bidirectional_mask(self.body.config, inputs_embeds=shared, attention_mask=attention_mask)
        head_logits = torch.stack([head(shared, mask) for head in self.heads], dim=1)  # (b, k, c)
        return MHSOutput(logits=combine(head_logits, self.config.combine), head_logits=head_logits)


def combine(head_logits: torch.Tensor, how: str) -> torch.Tensor:
    """One score from the heads: (b, k, c) → (b, c).

    "probability": log of the mean softmax, so that softmax(logits) is that mean, as in the released models.
    "logit": the mean logit, the letter of CERBERUS equation 5.
    """
    if how == "logit":
        return head_logits.mean(dim=1)
    k = head_logits.shape[1]
    return torch.logsumexp(head_logits.log_softmax(dim=-1), dim=1) - torch.log(torch.tensor(float(k)))


def _copy_layers(module: nn.Module, weights: dict[str, torch.Tensor], layers: range, prefix: str) -> None:
    """Load `weights`, of whose layers only `layers` are wanted, counted from 0 in `module`."""
    wanted = {}
    for name, value in weights.items():
        if name.startswith(prefix):
            index, rest = name.removeprefix(prefix).split(".", 1)
            if int(index) in layers:
                wanted[f"{prefix}{int(index) - layers.start}.{rest}"] = value
        else:
            wanted[name] = value
    module.load_state_dict(wanted)


AutoConfig.register("mhs", MHSConfig)
AutoModelForSequenceClassification.register(MHSConfig, MHSForSequenceClassification)
