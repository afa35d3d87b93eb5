"""CERBERUS, the multiple-heads student (MHS): one encoder body, k ranking heads; knows no teacher."""

import math
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModelForSequenceClassification, PretrainedConfig, PreTrainedModel
from transformers.masking_utils import create_bidirectional_mask

from as2lib.models import first_token, mean
from as2lib.models.cross_encoder import BackboneConfig, build, classify_in_float32
from as2lib.models.logits import RankerOutput, register

# b pairs in a batch · k heads · n tokens · d hidden units · c = 2 classes
UNREAD = ("core_base_model.", "embeddings.position_ids", "embeddings.token_type_ids")  # of released: copies, constants


class MHSConfig(BackboneConfig):
    """The shape B_body kH_h of a multiple-heads student.

    body: layers shared by the heads.  heads: how many; each has the backbone's other layers and a classifier.
    combine: of the heads' scores, "probability" or "logit": see `combine`.
    reads: what a head's classifier reads, the "first" token as in the paper, or the "mean" of all real tokens.
    """

    model_type = "mhs"

    body: int = 11
    heads: int = 3
    combine: str = "probability"
    reads: str = "first"

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        depth = self.num_hidden_layers
        if not 1 <= self.body < depth:
            raise ValueError(f"body: expected 1 to {depth - 1} of the backbone's {depth} layers, got {self.body}")
        if self.combine not in ("probability", "logit"):
            raise ValueError(f'combine: expected "probability" or "logit", got {self.combine!r}')


class RankingHead(nn.Module):
    """The backbone's last layers, which end in the one token that its classifier reads, and that classifier."""

    def __init__(self, config: PretrainedConfig, reads: str):
        super().__init__()
        whole = AutoModelForSequenceClassification.from_config(config)
        classify_in_float32(whole)
        self.encoder = {"first": first_token.reading_encoder, "mean": mean.read_mean}[reads](whole.base_model.encoder)
        self.pooler = getattr(whole.base_model, "pooler", None)  # where the classifier is a linear layer alone
        self.dropout = whole.dropout if self.pooler is not None else nn.Identity()
        self.classifier = whole.classifier

    def forward(self, shared: Tensor, attention_mask: Tensor | None) -> Tensor:
        """shared: (b, n, d), of the body.  attention_mask: as the encoder's layers take it.  Returns (b, c)."""
        hidden = self.encoder(shared, attention_mask=attention_mask)[0]  # (b, 1 or n, d)
        if self.pooler is not None:
            hidden = self.dropout(self.pooler(hidden))  # (b, d)
        return self.classifier(hidden)  # (b, c)


@register
class MHSForSequenceClassification(PreTrainedModel):
    """A multiple-heads student.  Source: CERBERUS, section 3.3, equation 5 and Figure 2."""

    config_class = MHSConfig
    base_model_prefix = "body"
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: MHSConfig):
        super().__init__(config)
        self.body = config.encoder(config.body)
        head = config.part(config.num_hidden_layers - config.body)
        self.heads = nn.ModuleList(RankingHead(head, config.reads) for _ in range(config.heads))
        self.post_init()

    @classmethod
    def from_backbone(
        cls,
        model_or_name: PreTrainedModel | str | Path,
        body: int,
        heads: int,
        combine: str = "probability",
        perturb: float = 0.0,
        seed: int = 0,
    ) -> "MHSForSequenceClassification":
        """A student whose heads each start as a copy of the last layers and of the classifier of a cross-encoder.

        model_or_name: a sequence classifier, whose heads read the mean of its tokens where it does, or what
            `cross_encoder.build` takes.
        perturb: noise on each head's weights, in standard deviations of the tensor it is put on: heads that start equal
            and see one loss, without dropout, would stay equal.  seed: of that noise.
        Raises ValueError for an unsupported family, and for a body that leaves no layer to the heads.
        """
        backbone = model_or_name if isinstance(model_or_name, PreTrainedModel) else build(model_or_name)
        reads = "first"
        if isinstance(backbone, mean.MeanForSequenceClassification):
            reads, backbone = "mean", backbone.model
        student = cls(MHSConfig(backbone=backbone.config, body=body, heads=heads, combine=combine, reads=reads))
        weights = backbone.base_model.state_dict()
        weights |= {f"classifier.{name}": value for name, value in backbone.classifier.state_dict().items()}
        student.body.load_state_dict({name: weights[name] for name in student.body.state_dict()})

        def in_backbone(name: str) -> str:  # whose layers are counted from the body's first
            return re.sub(r"(?<=^encoder\.layer\.)\d+", lambda match: str(body + int(match[0])), name)

        for head in student.heads:
            head.load_state_dict({name: weights[in_backbone(name)] for name in head.state_dict()})
        if perturb:
            _perturb(student.heads, perturb, seed)
        return student.train(backbone.training)

    @classmethod
    def from_cerberus(
        cls,
        state_dict_file: str | Path,
        backbone_config: PretrainedConfig | dict[str, Any],
        body: int | None = None,
        heads: int | None = None,
    ) -> "MHSForSequenceClassification":
        """The student of a state dict as published with the CERBERUS paper, ready to score.

        Its names: `embeddings.*`, `embeddings_project.*`, `cerberus_shared_encoder.layer.N.*`,
        `cerberus_heads.I.layer.J.*`, `cerberus_heads.I.classifier.{dense,out_proj}.*`, and a copy, `core_base_model.*`.
        backbone_config: of the encoder it was made from, such as google/electra-base-discriminator.
        body, heads: the student's shape; None: as the file has it.
        Raises what torch does for a file of anything but tensors, and for tensors that do not fit.
        """
        released = torch.load(state_dict_file, map_location="cpu", weights_only=True)
        weights = {_own_name(name): value for name, value in released.items() if not name.startswith(UNREAD)}
        body = body or _count(r"body\.encoder\.layer\.(\d+)\.", weights)
        heads = heads or _count(r"heads\.(\d+)\.", weights)
        student = cls(MHSConfig(backbone=backbone_config, body=body, heads=heads))
        student.load_state_dict(weights)
        return student.eval()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
    ) -> RankerOutput:
        """input_ids, attention_mask (1 at real tokens), token_type_ids: (b, n).  labels: (b,) int64, 0 or 1.

        Returns logits (b, c), the heads combined, and head_logits (b, k, c).
        With labels a loss, the heads' cross-entropies: mean over the batch, sum over heads.
        """
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        shared = self.body(input_ids, attention_mask=attention_mask, **types).last_hidden_state  # (b, n, d)
        mask = create_bidirectional_mask(self.body.config, inputs_embeds=shared, attention_mask=attention_mask)
        head_logits = torch.stack([head(shared, mask) for head in self.heads], dim=1)  # (b, k, c)
        loss = None if labels is None else sum(functional.cross_entropy(head, labels) for head in head_logits.unbind(1))
        return RankerOutput(loss=loss, logits=combine(head_logits, self.config.combine), head_logits=head_logits)


def combine(head_logits: Tensor, how: str) -> Tensor:
    """One score from the heads: (b, k, c) → (b, c).

    "probability": log of the mean softmax, so that softmax(logits) is that mean.  "logit": the mean logit, a variant.
    CERBERUS equation 5 averages what the heads return, and Figure 2 draws a softmax inside each head: "probability" is
    what the paper says, and what the released models are read with.
    """
    if how == "logit":
        return head_logits.mean(dim=1)
    k = head_logits.shape[1]
    return torch.logsumexp(head_logits.log_softmax(dim=-1), dim=1) - math.log(k)


def _own_name(name: str) -> str:
    """What the student calls a tensor of a released state dict."""
    name = re.sub(r"^cerberus_heads\.(\d+)\.layer\.", r"heads.\1.encoder.layer.", name)
    name = name.replace("cerberus_heads.", "heads.").replace("cerberus_shared_encoder.", "body.encoder.")
    return name if name.startswith(("heads.", "body.")) else f"body.{name}"


def _count(pattern: str, weights: dict[str, Tensor]) -> int:
    """How many numbers a pattern finds in the names of tensors."""
    return len({match[1] for name in weights if (match := re.match(pattern, name))})


@torch.no_grad()
def _perturb(heads: nn.ModuleList, scale: float, seed: int) -> None:
    """Add noise to each tensor, `scale` times its standard deviation; a head's does not depend on the heads behind."""
    generator = torch.Generator().manual_seed(seed)
    for head in heads:
        for weights in head.parameters():
            noise = torch.randn(weights.shape, generator=generator).to(weights)
            weights += scale * weights.std(correction=0) * noise
