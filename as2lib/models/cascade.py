"""The Cascade Transformer (CT): one encoder with a classifier at several depths that prunes its own candidates.

b pairs in a batch · m of a question · q questions · n tokens · d hidden units · e exits · c = 2 classes
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pandas
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel
from transformers.initialization import xavier_uniform_
from transformers.masking_utils import create_bidirectional_mask

from as2lib.data.encode import by_length
from as2lib.metrics.probability import sigmoid
from as2lib.metrics.pruning import Pruned, Ratios, prune
from as2lib.models.cross_encoder import CLASSES, BackboneConfig, build
from as2lib.models.logits import Float32Linear, RankerOutput, register
from as2lib.models.mean import mean_of_tokens

EXITS = (4, 6, 8, 10, 12)
GAP = 1e-6  # between the lowest score that was kept and the highest that was dropped


class CascadeConfig(BackboneConfig):
    """exits: the layers behind which there is a classifier; layers after the last exit are left out.

    pooling: what a classifier reads, the "mean" of all real tokens or the "first" token.
    stop_gradient: whether a classifier's loss reaches down to the previous exit only.
    """

    model_type = "cascade"

    exits: Sequence[int] = EXITS
    pooling: str = "mean"
    stop_gradient: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        self.exits, depth = list(self.exits), self.num_hidden_layers
        if not self.exits or sorted(set(self.exits)) != self.exits or not 1 <= self.exits[0] <= self.exits[-1] <= depth:
            raise ValueError(f"exits: expected increasing layers, 1 to {depth}, the backbone's depth, got {self.exits}")
        if self.pooling not in ("mean", "first"):
            raise ValueError(f'pooling: expected "mean" or "first", got {self.pooling!r}')


class Ranking(NamedTuple):
    """One question's candidates, ranked; but for `order` in input order.

    order: (m,) int64, the candidates' positions: survivors first, then the dropped, those dropped later first.
    scores: (m,) float64, which fall along `order`, the sigmoid of `log_odds`: see `falling_scores`.
    stages: (m,) int64, the last stage that scored each candidate.  stage_scores: (m,) float64, its P(correct).
    """

    order: Tensor
    scores: Tensor
    stages: Tensor
    stage_scores: Tensor
    log_odds: Tensor


class Exit(nn.Module):
    """A classifier: three dense layers d → d → d → c with tanh after the first two, over the pooled tokens."""

    def __init__(self, width: int, dropout: float, pooling: str):
        super().__init__()
        self.pooling = pooling
        layers = [nn.Dropout(dropout), Float32Linear(width, width), nn.Tanh()]
        layers += [nn.Dropout(dropout), Float32Linear(width, width), nn.Tanh()]
        self.classifier = nn.Sequential(*layers, nn.Dropout(dropout), Float32Linear(width, CLASSES))

    def forward(self, hidden: Tensor, attention_mask: Tensor) -> Tensor:
        """hidden: (b, n, d).  attention_mask: (b, n), 1 at real tokens.  Returns (b, c)."""
        return self.classifier(hidden[:, 0] if self.pooling == "first" else mean_of_tokens(hidden, attention_mask))


@register
class CascadeTransformer(PreTrainedModel):
    """One encoder that scores at several depths.  Source: Cascade Transformer, section 4.3.

    A classifier reads the mean of all real tokens' encodings, the first token included and padding excluded: the
    paper's formula starts at 1, its text says all.
    """

    config_class = CascadeConfig
    base_model_prefix = "encoder"
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: CascadeConfig):
        super().__init__(config)
        self.encoder = config.encoder(config.exits[-1])
        dropout = config.backbone.get("hidden_dropout_prob", 0.1)
        self.exits = nn.ModuleList(Exit(config.hidden_size, dropout, config.pooling) for _ in config.exits)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Float32Linear):  # of an exit
            # An encoder's own small weights would shrink a signal, and the gradient that comes back, twice a layer.
            xavier_uniform_(module.weight)

    @classmethod
    def from_backbone(
        cls, model_or_name: PreTrainedModel | str | Path, exits: Sequence[int] = EXITS, **fields: Any
    ) -> "CascadeTransformer":
        """A cascade over a copy of a model's encoder; its classifiers are new, from torch's global generator.

        model_or_name: an encoder or sequence classifier, or what `cross_encoder.build` takes.
        Raises ValueError for an unsupported family, or exits that are not increasing or exceed the depth.
        """
        backbone = model_or_name if isinstance(model_or_name, PreTrainedModel) else build(model_or_name)
        cascade = cls(CascadeConfig(backbone=backbone.config, exits=exits, **fields))
        weights = backbone.base_model.state_dict()
        cascade.encoder.load_state_dict({name: weights[name] for name in cascade.encoder.state_dict()})
        return cascade.train(backbone.training)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        only_exit: int | None = None,
    ) -> RankerOutput:
        """input_ids, attention_mask (1 at real tokens), token_type_ids: (b, n).  labels: (b,) int64, 0 or 1.

        only_exit: the number of one exit, counted from 0; no layer behind it is computed.
        Returns logits (b, c), of the last exit or that one, and exit_logits (b, e, c), None for one exit alone.
        With labels a loss, the exits' cross-entropies: mean over the batch, sum over exits.
        """
        real = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = self.embed(input_ids, token_type_ids)  # (b, n, d)
        exit_logits = []
        for i in range(len(self.exits) if only_exit is None else only_exit + 1):
            if i and self.config.stop_gradient:
                hidden = hidden.detach()
            hidden = self.layers_up_to(i, hidden, real)
            if only_exit in (None, i):
                exit_logits.append(self.exits[i](hidden, real))
        loss = None if labels is None else sum(functional.cross_entropy(logits, labels) for logits in exit_logits)
        every = torch.stack(exit_logits, dim=1) if only_exit is None else None
        return RankerOutput(loss=loss, logits=exit_logits[-1], exit_logits=every)

    @torch.inference_mode()
    def rank(
        self,
        batch: dict[str, Tensor],
        alpha: Ratios,
        question_index: Tensor | Sequence[int] | None = None,
        batch_tokens: int | None = None,
    ) -> Ranking | list[Ranking]:
        """Rank one question's candidates, or several questions', dropping at each exit: only survivors go on.

        The model is left in evaluation mode.
        batch: the tensors (b, n) that `forward` takes, a row a candidate.  alpha: the share that each exit but the last
        drops, a number or one for each of them.
        question_index: (b,) which question a row belongs to; each question is pruned on its own.
        batch_tokens: compute rows of like length together, at most so many tokens with their padding, which is on the
        right; default: all rows at once.
        Returns a `Ranking`; with `question_index` a list of them, a question each in first-seen order, whose positions
        count the question's own candidates.  A survivor's score is P(correct); those of dropped candidates are below.
        Raises ValueError for an alpha outside [0, 1), and a score that is no number.
        Source: Cascade Transformer, section 4.3.2.
        """
        self.eval()
        attention_mask = batch.get("attention_mask", torch.ones_like(batch["input_ids"]))
        length = attention_mask.sum(dim=1).cpu().numpy()
        groups = []  # rows that are computed together, their hidden states, and which tokens are real
        for rows in by_length(length, batch_tokens) if batch_tokens else [numpy.arange(len(length))]:
            place = rows, slice(length[rows].max())
            types = batch["token_type_ids"][place] if "token_type_ids" in batch else None
            groups.append((rows, self.embed(batch["input_ids"][place], types), attention_mask[place]))

        def log_odds(number: int, left: numpy.ndarray) -> numpy.ndarray:
            """What an exit says of the rows that are left, whose hidden states `groups` keeps, and no others."""
            odds = numpy.empty(len(length))
            for i, (rows, hidden, real) in enumerate(groups):
                stays = numpy.isin(rows, left)
                rows, hidden, real = rows[stays], hidden[stays], real[stays]
                if len(rows):
                    hidden = self.layers_up_to(number, hidden, real)
                    logits = self.exits[number](hidden, real).double().cpu().numpy()
                    odds[rows] = logits[:, 1] - logits[:, 0]
                groups[i] = rows, hidden, real
            if not numpy.isfinite(odds[left]).all():
                raise ValueError(f"exit {number}: expected a number for each candidate's score")
            return odds[left]

        index = numpy.zeros(len(length)) if question_index is None else torch.as_tensor(question_index).cpu().numpy()
        question = pandas.factorize(index)[0]
        ranked = rankings(prune(log_odds, len(self.exits), question, alpha), question)
        return ranked[0] if question_index is None else ranked

    def embed(self, input_ids: Tensor, token_type_ids: Tensor | None) -> Tensor:
        """(b, n) → (b, n, d), what the first layer reads."""
        embedded = self.encoder.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
        return self.encoder.embeddings_project(embedded) if hasattr(self.encoder, "embeddings_project") else embedded

    def layers_up_to(self, number: int, hidden: Tensor, real: Tensor) -> Tensor:
        """The layers after the previous exit, up to exit `number`: (b, n, d) → (b, n, d)."""
        mask = create_bidirectional_mask(self.encoder.config, inputs_embeds=hidden, attention_mask=real)
        first = self.config.exits[number - 1] if number else 0
        layers = self.encoder.encoder.layer[first : self.config.exits[number]]
        is_mpnet = self.encoder.config.model_type == "mpnet"  # whose layers read a bias of positions, (b, a, n, n)
        position_bias = [self.encoder.encoder.compute_position_bias(hidden)] if is_mpnet else []
        for layer in layers:
            output = layer(hidden, mask, *position_bias)
            hidden = output[0] if is_mpnet else output
        return hidden


def rankings(pruned: Pruned, question: numpy.ndarray) -> list[Ranking]:
    """Of the log odds that stages gave, each question's ranking.  question: (b,) codes from 0."""
    ranked = []
    for number in range(question.max() + 1):
        rows = numpy.flatnonzero(question == number)
        order = numpy.searchsorted(rows, pruned.order[question[pruned.order] == number])
        log_odds, stages = pruned.scores[rows], pruned.last[rows]
        falling = falling_scores(log_odds, stages)
        scores = sigmoid(falling)
        scores[order] = numpy.minimum.accumulate(scores[order])  # a sigmoid errs in its last digit
        ranked.append(Ranking(*map(torch.from_numpy, (order, scores, stages, sigmoid(log_odds), falling))))
    return ranked


def falling_scores(log_odds: numpy.ndarray, stages: numpy.ndarray) -> numpy.ndarray:
    """One score a candidate of a question, (m,) float64, by which they stand in a cascade's order.

    Survivors keep the last stage's score. The candidates that a stage dropped keep their order and their distances,
    and are shifted together, as far as it takes, below the lowest score of those that it kept.
    log_odds: (m,) of the last stage that saw a candidate, so that probabilities stay between 0 and 1.
    stages: (m,) its number.
    """
    scores = log_odds.copy()
    for stage in numpy.unique(stages)[-2::-1]:
        dropped, lowest = stages == stage, scores[stages > stage].min()
        ceiling = lowest - GAP * max(1.0, abs(lowest))
        shift = min(0.0, ceiling - scores[dropped].max())
        scores[dropped] = numpy.minimum(scores[dropped] + shift, ceiling)
    return scores
