"""The encoders of the CERBERUS paper at their true sizes, with random weights; knows no data and no study."""

import re

import torch
from transformers import AutoConfig, PretrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights

from as2lib.models.cross_encoder import build
from as2lib.models.mhs import MHSConfig

# The fields of the published checkpoints' configurations: ELECTRA discriminators, RoBERTa, ALBERT v2.
ENCODERS = {
    ("electra", "base"): {"hidden_size": 768, "embedding_size": 768, "num_hidden_layers": 12},
    ("electra", "large"): {"hidden_size": 1024, "embedding_size": 1024, "num_hidden_layers": 24},
    ("roberta", "base"): {"hidden_size": 768, "num_hidden_layers": 12},
    ("roberta", "large"): {"hidden_size": 1024, "num_hidden_layers": 24},
    ("albert", "base"): {"hidden_size": 768, "embedding_size": 128, "num_hidden_layers": 12},
    ("albert", "large"): {"hidden_size": 4096, "embedding_size": 128, "num_hidden_layers": 12},  # XXLARGE
}
VOCABULARY = {
    "electra": {"vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2},
    "roberta": {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1},
    "albert": {"vocab_size": 30000, "max_position_embeddings": 512, "type_vocab_size": 2},
}
HEAD_UNITS = 64  # an attention head's, in all of them
WEIGHT = 0.03  # at most, about as wide as the encoders' own initial range
STUDENT = ("electra", "base")
ONE_EACH = [(family, "base") for family in VOCABULARY]
ENSEMBLES = {"ensemble/base": ONE_EACH, "ensemble/kd": ONE_EACH, "ensemble/distilled": [STUDENT] * 3}


def members(row: str) -> list[PretrainedConfig]:
    """The models that run, one after another, for a row of the paper's tables, by the name of its runs.

    row: such as `teacher/albert` (large), `base/albert`, `kd/albert`, `ensemble/distilled`, or `mhs/3h2`: three heads
    of two layers, on the other layers of ELECTRA-BASE.  Raises ValueError where the name says no size.
    """
    if row in ENSEMBLES:
        return [encoder(*member) for member in ENSEMBLES[row]]
    if shape := re.fullmatch(r"(?:mhs|hydra)/(\d+)h(\d+)", row):
        heads, depth = map(int, shape.groups())
        backbone = encoder(*STUDENT)
        return [MHSConfig(backbone, backbone.num_hidden_layers - depth, heads)]
    role, _, family = row.partition("/")
    size = {"teacher": "large", "base": "base", "kd": "base"}.get(role)
    if (family, size) not in ENCODERS:
        raise ValueError(f"expected a row of the tables of the paper, such as teacher/electra or mhs/3h1, got {row!r}")
    return [encoder(family, size)]


def encoder(family: str, size: str) -> PretrainedConfig:
    """A published encoder's configuration, by family and by size, base or large."""
    width = ENCODERS[family, size]["hidden_size"]
    fields = {"intermediate_size": 4 * width, "num_attention_heads": width // HEAD_UNITS}
    return AutoConfig.for_model(family, **VOCABULARY[family], **ENCODERS[family, size], **fields)


def build_members(row: str, device: str) -> list[PreTrainedModel]:
    """The models of a row; on the device "meta" they have shapes and no weights.

    Every weight takes the same uniform random numbers: an initialisation of its own would take longer than some passes.
    """
    with torch.device(device), no_init_weights():
        models = [build(config).eval() for config in members(row)]
    weights = [weight.detach() for model in models for weight in model.parameters()]
    noise = torch.empty(max(weight.numel() for weight in weights), device=device).uniform_(-WEIGHT, WEIGHT)
    for weight in weights:
        weight.copy_(noise[: weight.numel()].view_as(weight))
    return models
