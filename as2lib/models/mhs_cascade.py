"""A cascade whose last exit is a multiple-heads student: classifiers behind the layers that its heads share.

Knows no loss and no teacher.  Letters: b pairs in a batch · m of them left · n tokens · d hidden units · e exits before
the heads · k heads · c = 2 classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSequenceClassification
from transformers.initialization import xavier_uniform_
from transformers.masking_utils import create_bidirectional_mask

from as2lib.metrics.pruning import Ratios
from as2lib.models.cascade import Dense, Exit
from as2lib.models.mhs import MHSConfig, MHSForSequenceClassification, MHSOutput, combine
from as2lib.models.sequential import Questions, Ranking, rank_by_stages

BACKBONES = ("electra", "bert", "roberta")  # whose layers a body can be left after


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
        mask = create_bidirectional_mask(self.body.config, inputs_embeds=hidden, attention_mask=real)
        for i, exit_ in enumerate(self.exits):
            hidden = self._between(i, hidden, mask)
            found.append(exit_(hidden, real))
        heads = self._heads(hidden, mask)
        return MHSCascadeOutput(combine(heads, self.config.combine), heads, torch.stack(found, dim=1))

    @torch.inference_mode()
    def rank(
        self, batch: dict[str, Tensor], alpha: Ratios, question_index: Questions = None, batch_tokens: int | None = None
    ) -> Ranking | list[Ranking]:
        """Rank candidates, of which each exit drops a share and the heads score the rest: as `CascadeTransformer.rank`.

        batch_tokens: not read: the rows of a batch are computed together.
        """
        many, training = question_index is not None, self.training
        inputs = dict(batch)
        real = inputs.pop("attention_mask", None)
        real = torch.ones_like(inputs["input_ids"]) if real is None else real
        rows, hidden = torch.arange(len(real), device=real.device), torch.empty(0)

        def score(stage: int, left: Tensor) -> Tensor:
            """The logit of P(correct) of the rows that are left, (m,); the other rows are let go."""
            nonlocal rows, hidden
            stays = torch.isin(rows, left.to(rows.device))
            rows, hidden, mask = rows[stays], hidden[stays], real[rows[stays]]
            attention = create_bidirectional_mask(self.body.config, inputs_embeds=hidden, attention_mask=mask)
            hidden = self._between(stage, hidden, attention)  # (m, n, d)
            if stage < len(self.exits):
                logits = self.exits[stage](hidden, mask)
            else:
                logits = combine(self._heads(hidden, attention), self.config.combine)
            logits = logits.double()
            return logits[:, 1] - logits[:, 0]  # no probability yet: rounding could part equal scores

        self.eval()
        try:
            hidden = self._embed(**inputs)
            ranked = rank_by_stages(score, len(self.exits) + 1, len(real), alpha, question_index)
        finally:
            self.train(training)
        probable = [one._replace(scores=one.scores.sigmoid()) for one in (ranked if many else [ranked])]
        return probable if many else probable[0]

    def _embed(self, input_ids: Tensor, **inputs: Tensor) -> Tensor:
        embedded = self.body.embeddings(input_ids=input_ids, **inputs)
        return self.body.embeddings_project(embedded) if hasattr(self.body, "embeddings_project") else embedded

    def _between(self, number: int, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """The body's layers after the exit before, up to exit `number`; behind the last, up to the heads."""
        ends = [0, *self.config.exits, self.config.body]
        for layer in self.body.encoder.layer[ends[number] : ends[number + 1]]:
            hidden = layer(hidden, mask)
        return hidden

    def _heads(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """hidden: (b, n, d), behind the last exit.  Returns (b, k, c)."""
        hidden = self._between(len(self.exits), hidden, mask)
        return torch.stack([head(hidden, mask) for head in self.heads], dim=1)


AutoConfig.register("mhs_cascade", MHSCascadeConfig, exist_ok=True)
AutoModelForSequenceClassification.register(MHSCascadeConfig, MHSCascade)
