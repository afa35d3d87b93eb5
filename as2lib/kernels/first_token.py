"""A last layer that computes the first token alone, all that a classifier reads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from transformers import (
    BertForSequenceClassification,
    ElectraForSequenceClassification,
    RobertaForSequenceClassification,
)

from as2lib.kernels import replacing
from as2lib.models.mhs import MHSForSequenceClassification

# b pairs in a batch · n tokens · d hidden units · a attention heads
CLASSIFIERS = (BertForSequenceClassification, ElectraForSequenceClassification, RobertaForSequenceClassification)
FAMILIES = tuple(classifier.config_class.model_type for classifier in CLASSIFIERS)


@contextmanager
def reading_first_token(model: nn.Module) -> Iterator[None]:
    """Inside, a model computes the last layer's query, attention and feed-forward for one token, in training too.

    Logits and gradients are the same but for rounding (and, with dropout, for what is drawn); hidden states that a
    caller asks for are not: those of the last layer are (b, 1, d). A student's heads each have their own last layer.
    Does nothing to a model whose classifier reads other tokens, or whose layers it does not know (ALBERT applies one
    again and again).
    """
    with replacing({layer: partial(_first_token, layer, layer.forward) for layer in last_layers(model)}):
        yield


def last_layers(model: nn.Module) -> list[nn.Module]:
    """The layers whose first token alone is read: one of a BERT, ELECTRA or RoBERTa, one a head of such a student."""
    if type(model) in CLASSIFIERS:
        encoders = [model.base_model.encoder]
    elif isinstance(model, MHSForSequenceClassification) and model.config.backbone["model_type"] in FAMILIES:
        encoders = [head.encoder for head in model.heads]
    else:
        encoders = []
    return [encoder.layer[-1] for encoder in encoders if not encoder.layer[-1].is_decoder]


def _first_token(
    layer: nn.Module, ordinary: Callable, hidden: torch.Tensor, attention_mask=None, *rest: Any, **options: Any
) -> torch.Tensor:
    """What a layer makes of (b, n, d) for the first token: (b, 1, d).

    No key or value is computed either. With q = W_q h_0, the score q (W_k h_j) is (q W_k) h_j, and the sum over tokens
    of p_j (W_v h_j) is W_v times the sum of p_j h_j: two products with d x d weights a pair instead of two a token.
    attention_mask: (b, 1, 1 or n, n), boolean or added to the attention scores. One of another shape belongs to another
    kind of attention, such as flash attention, and takes the ordinary path.
    """
    if attention_mask is not None and attention_mask.dim() != 4:
        return ordinary(hidden, attention_mask, *rest, **options)
    attention, first = layer.attention.self, hidden[:, :1]  # (b, 1, d)
    query = attention.query(first).unflatten(-1, (attention.num_attention_heads, -1))[:, 0]  # (b, a, d / a)
    to_key, to_value = (linear.weight.unflatten(0, query.shape[1:]) for linear in (attention.key, attention.value))
    asked = torch.einsum("bah,ahd->bad", query, to_key)
    scores = (asked @ hidden.mT).float() * query.shape[-1] ** -0.5  # (b, a, n); a key's bias adds the same to each
    if attention_mask is not None:
        mask = attention_mask[:, 0, :1]  # (b, 1, n)
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min) if mask.dtype == torch.bool else scores + mask
    shares = attention.dropout(scores.softmax(-1)).to(hidden.dtype)
    mixed = torch.einsum("bad,ahd->bah", shares @ hidden, to_value)
    mixed = mixed + shares.sum(-1, keepdim=True) * attention.value.bias.view(query.shape[1:])  # dropped shares count 0
    return layer.feed_forward_chunk(layer.attention.output(mixed.flatten(1)[:, None], first))
