"""A cascade whose last exit is a multiple-heads student: classifiers behind the layers that its heads share.

Knows no loss and no teacher.  Letters: b pairs in a batch · n tokens · d hidden units · e exits before the heads ·
k heads · c = 2 classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification
from transformers.initialization import xavier_uniform_
from transformers.masking_utils import create_bidirectional_mask

from as2lib.metrics.pruning import Ratios
from as2lib.models.cascade import BACKBONES, Dense, Exit, rank_by_exits
from as2lib.models.mhs import MHSConfig, MHSForSequenceClassification, MHSOutput, combine
from as2lib.models.sequential import Questions, Ranking


class MHSCascadeConfig(MHSConfig):
    """The shape of a multiple-heads student, and `exits`: the layers of its body behind which there is a classifier."""

    model_type = "mhs_cascade"

    def __init__(self, backbone=None, exits: Sequence[int] = (), **kwargs):
        self.exits = list(exits)
        super().__init__(backbone, **kwargs)

    def check(self) -> None:
        """Raises ValueError where no such student can be built."""
        super().check()
        if (family := self.backbone["model_type"]) not in BACKBONES:
            raise ValueError(f"backbone: expected one of {', '.join(BACKBONES)}, got {family}")
        increasing = self.exits and sorted(set(self.exits)) == self.exits
        if not increasing or not 1 <= self.exits[0] <= self.exits[-1] <= self.body:
            raise ValueError(f"exits: expected increasing layers, 1 to {self.body}, the body's depth, got {self.exits}")


@dataclass
class MHSCascadeOutput(MHSOutput):
    """logits, head_logits: the student's.  exit_logits: (b, e, c), of the exits before its heads."""

    exit_logits: Tensor | None = None


class MHSCascade(MHSForSequenceClassification):
    """A multiple-heads student that can drop candidates before its heads, as the Cascade Transformer does.

    Neither paper has it: the student is CERBERUS's (section 3.3), its exits and their rule are the Cascade
    Transformer's (section 4.3).
    """

    config_class = MHSCascadeConfig

    def __init__(self, config: MHSCascadeConfig):
        super().__init__(config)
        dropout = config.backbone.get("hidden_dropout_prob", 0.1)
        self.exits = nn.ModuleList(Exit(config.hidden_size, dropout, "mean") for _ in config.exits)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Dense):
            xavier_uniform_(module.weight)

    @classmethod
    def from_student(cls, student: MHSForSequenceClassification, exits: Sequence[int]) -> "MHSCascade":
        """A copy of a student with new classifiers, from torch's global generator, behind these layers of its body.

        Raises ValueError for an unsupported family, or exits that are not increasing or exceed the body.
        """
        shape = {name: getattr(student.config, name) for name in ("backbone", "body", "heads", "combine")}
        cascade = cls(MHSCascadeConfig(exits=exits, **shape))
        cascade.body.load_state_dict(student.body.state_dict())
        cascade.heads.load_state_dict(student.heads.state_dict())
        return cascade.train(student.training)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **inputs: Tensor) -> MHSCascadeOutput:
        """input_ids, attention_mask (1 at real tokens), token_type_ids: (b, n)."""
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden, found = self._embed(input_ids, **inputs), []  # (b, n, d)
        mask = self._attention_mask(hidden, real)
        for i, exit_ in enumerate(self.exits):
            hidden = self._between(i, hidden, mask)
            found.append(exit_(hidden, real))
        heads = self._head_logits(self._between(len(self.exits), hidden, mask), mask)
        return MHSCascadeOutput(combine(heads, self.config.combine), heads, torch.stack(found, dim=1))

    @torch.inference_mode()
    def rank(
        self, batch: dict[str, Tensor], alpha: Ratios, question_index: Questions = None, batch_tokens: int | None = None
    ) -> Ranking | list[Ranking]:
        """`CascadeTransformer.rank`, with the heads as the last exit."""
        return rank_by_exits(self, len(self.exits) + 1, batch, alpha, question_index, batch_tokens)

    def _logits(self, stage: int, hidden: Tensor, real: Tensor) -> Tensor:
        if stage < len(self.exits):
            return self.exits[stage](hidden, real)
        return combine(self._head_logits(hidden, self._attention_mask(hidden, real)), self.config.combine)

    def _attention_mask(self, hidden: Tensor, real: Tensor) -> Tensor | None:
        return create_bidirectional_mask(self.body.config, inputs_embeds=hidden, attention_mask=real)

    def _embed(self, input_ids: Tensor, **inputs: Tensor) -> Tensor:
        embedded = self.body.embeddings(input_ids=input_ids, **inputs)
        return self.body.embeddings_project(embedded) if hasattr(self.body, "embeddings_project") else embedded

    def _between(self, number: int, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """The body's layers after the exit before, up to exit `number`; behind the last, up to the heads."""
        ends = [0, *self.config.exits, self.config.body]
        for layer in self.body.encoder.layer[ends[number] : ends[number + 1]]:
            hidden = layer(hidden, mask)
        return hidden

    def _head_logits(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """hidden: (b, n, d), of the body's last layer.  Returns (b, k, c)."""
        return torch.stack([head(hidden, mask) for head in self.heads], dim=1)


AutoConfig.register("mhs_cascade", MHSCascadeConfig, exist_ok=True)
AutoModelForSequenceClassification.register(MHSCascadeConfig, MHSCascade)
