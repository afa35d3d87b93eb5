"""Operations of a ranker, by formulas of its sizes: multiply-adds; reads no score and builds no model it knows.

A word counts as a token; look-ups and norms are left out.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

FORMULA_FAMILIES = ("albert", "bert", "electra", "mpnet", "roberta", "xlm-roberta")  # of `encoder_operations`
CLASSES = 2
SPECIAL_TOKENS = 3  # tokens that an encoder puts around a question and a candidate


class Lengths(NamedTuple):
    """Words: of a question, mean over questions, and of a candidate, mean over pairs."""

    question: float
    candidate: float


class Work(NamedTuple):
    """Multiply-adds: of a candidate, and once for all candidates of a question."""

    candidate: float
    question: float = 0.0


def of_pair(config: dict[str, Any], tokens: float, every_token: bool = False, **heads: int) -> int:
    """Multiply-adds of one pair of so many tokens, padding included.

    config: the encoder's, with `model_type`.  every_token: whether the last layer computes every token, as the papers
    draw it, or the one that the classifier reads.  body, heads: of a multiple-heads student.
    """
    return _of_pair(json.dumps(config, sort_keys=True), round(tokens), every_token, **heads)


@cache
def _of_pair(config: str, tokens: int, every_token: bool, body: int | None = None, heads: int = 1) -> int:
    fields = json.loads(config)
    if body is None:
        body = fields["num_hidden_layers"] - 1  # a plain model: one head of one layer
    if fields["model_type"] in FORMULA_FAMILIES:
        return encoder_operations(fields, tokens, every_token, body, heads)
    whole = _counted(config, tokens)
    below = json.dumps(fields | {"num_hidden_layers": body}, sort_keys=True)
    return whole + (heads - 1) * (whole - _counted(below, tokens))  # the last layers, once more for each further head


def encoder_operations(config: dict[str, Any], tokens: int, every_token: bool, body: int, heads: int) -> int:
    """Multiply-adds of one pair in an encoder of `FORMULA_FAMILIES`, as `forward_flops` counts them on the model.

    A layer has 4 d² + 2 d f a token, and 2 n d a token in attention; for the first token alone 4 d² + 2 d f,
    and in attention 2 n d for each of a heads.  n tokens · d hidden units · f feed-forward units · a attention heads.
    """
    d, f, n = config["hidden_size"], config["intermediate_size"], tokens
    family, attention_heads = config["model_type"], config["num_attention_heads"]
    width = config.get("embedding_size", 128) if family in ("albert", "electra") else d
    layer = n * (4 * d**2 + 2 * d * f) + 2 * n**2 * d
    last = layer if every_token else 4 * d**2 + 2 * d * f + 2 * attention_heads * n * d
    projection = n * width * d if width != d or family == "albert" else 0
    head = (config["num_hidden_layers"] - body - 1) * layer + last + d**2 + d * CLASSES
    return projection + body * layer + heads * head


@cache
def _counted(config: str, tokens: int) -> int:
    """Of any other family, in which every token is computed: on a model without weights."""
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification
    from transformers.initialization import no_init_weights

    from as2lib.metrics.cost import forward_flops

    with torch.device("meta"), no_init_weights():
        model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(**json.loads(config)))
        return forward_flops(model, {"input_ids": torch.zeros(1, tokens, dtype=torch.long)})


def on_words(spec: Mapping[str, Any], words: Lengths) -> Work:
    """Of a model over static vectors, whose words all differ; Cosinet reads a question once for all its candidates.

    spec: a run's `words`.  A convolution computes a row of zeros for each side, too, once a question.
    """
    question, candidate = round(words.question), round(words.candidate)
    d, f = spec["vectors"]["dimensions"], spec.get("hidden", 300)
    if spec["type"] == "cosinet":
        convolution = spec.get("kernel", 5) * f  # a word and dimension, the relatedness among them, which a pair has
        pair, vector, rank_hidden = d * question * candidate + convolution * (question + candidate), f, f
        work = Work(convolution * d * candidate + pair, convolution * d * (question + 2))
    else:
        sizes = spec.get("windows", (1, 2, 3, 4, 5))
        convolution, vector, rank_hidden = sum(sizes) * f**2, len(sizes) * f, 2 * f
        pair = 3 * f * question * candidate + convolution * (question + candidate)
        work = Work(2 * d * f * candidate + pair, 2 * d * f * question + 2 * convolution)
    score = 2 * vector
    if cell := spec.get("rank_rnn"):
        directions, gates = (2 if spec.get("bidirectional") else 1), {"rnn": 1, "lstm": 4}[cell]
        hidden = rank_hidden // directions
        score = directions * gates * hidden * (2 * vector + hidden) + rank_hidden
    return Work(work.candidate + score, work.question)
