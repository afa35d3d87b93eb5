"""A last layer that computes the first token alone, in ordinary classifiers; a student's heads do so by themselves."""

from collections.abc import Iterator
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
from as2lib.models.first_token import first_token

CLASSIFIERS = (BertForSequenceClassification, ElectraForSequenceClassification, RobertaForSequenceClassification)


@contextmanager
def reading_first_token(model: nn.Module) -> Iterator[None]:
    """Inside, a BERT, ELECTRA or RoBERTa computes its last layer for one token, in training too: `models.first_token`.

    Logits and gradients are the same but for rounding (and, with dropout, for what is drawn); hidden states that a
    caller asks for are not: those of the last layer are (b, 1, d).
    Does nothing to any other model: its classifier reads other tokens, or its layers are not known.
    """
    layer = model.base_model.encoder.layer[-1] if type(model) in CLASSIFIERS else None
    known = {} if layer is None or layer.is_decoder else {layer: partial(_first_token, layer)}
    with replacing(known):
        yield


def _first_token(
    layer: nn.Module, hidden: torch.Tensor, attention_mask: torch.Tensor | None = None, *_: Any, **__: Any
) -> torch.Tensor:
    return first_token(layer, hidden, attention_mask)
