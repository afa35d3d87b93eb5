"""Operations of a ranker, by formulas of its sizes: multiply-adds; reads no score and builds no model it knows.

A word counts as a token; look-ups and norms are left out.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy
import pandas

from as2lib.metrics.cost import forward_flops
from as2lib.study import Study, results
from as2lib.study.run import Run

FAMILIES = ("albert", "bert", "electra", "roberta", "xlm-roberta")  # those of which `encoder_operations` is the formula
CLASSES = 2
SPECIAL = 3  # tokens that an encoder puts around a question and a candidate


class Lengths(NamedTuple):
    """Words: of a question, mean over questions, and of a candidate, mean over pairs."""

    question: float
    candidate: float


# Of the answered questions of known test sets, counted once, so that costs need no texts.
KNOWN = {
    "wikiqa:test": Lengths(6.27, 22.52),
    "trecqa:test": Lengths(8.63, 25.61),
    "selqa:test": Lengths(11.08, 25.04),
    "selqa:test=apart(selqa:dev=first80%)": Lengths(11.07, 25.05),
}


@cache
def _sizes() -> dict[str, int]:
    return pandas.read_csv(files("as2lib.papers") / "sizes.csv", index_col="run")["parameters"].to_dict()


def parameters(run: str) -> int:
    """Trainable parameters of a row of CERBERUS's or Cosinet's tables at its true size, counted once: `sizes.csv`.

    Raises KeyError for a row that is not among them.
    """
    return _sizes()[run]


class Work(NamedTuple):
    """Multiply-adds: of a candidate, and once for all candidates of a question."""

    candidate: float
    question: float = 0.0


def lengths(study: Study) -> Lengths:
    """Of the target's test set; words are split at blanks."""
    parts = study.data.target.test
    if len(parts) == 1 and parts[0] in KNOWN:
        return KNOWN[parts[0]]
    from as2lib.data import load_parts

    pairs = load_parts(tuple(parts), "answered").to_pandas()
    words = {column: pairs[column].str.split().str.len() for column in ("question", "answer")}
    return Lengths(words["question"].groupby(pairs["question_id"]).first().mean(), words["answer"].mean())


def answered_sizes(table: pandas.DataFrame) -> numpy.ndarray:
    """How many candidates each question with a correct one has."""
    return results.answered(table).groupby("question_id", sort=False).size().to_numpy()


def work(study: Study, run: Run, words: Lengths) -> Work:
    """What a run computes to rank; a trivial ranker nothing."""
    if run.kind == "lexical":
        return Work(0.0)
    if run.kind == "ensemble":
        parts = [work(study, member, words) for member in run.parents["members"]]
        return Work(sum(part.candidate for part in parts), sum(part.question for part in parts))
    if "words" in run.spec:
        return on_words(run.spec["words"], words)
    shape = {key: value for key, value in run.spec.get("mhs", {}).items() if key in ("body", "heads")}
    every_token = any("cascade" in step.spec or "reads" in step.spec for step in lineage(run))  # their mean is read
    tokens = min(words.question + words.candidate + SPECIAL, study.data.max_length)  # of a pair of mean words
    return Work(of_pair(encoder(study, run), tokens, every_token, **shape))


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
    if fields["model_type"] in FAMILIES:
        return encoder_operations(fields, tokens, every_token, body, heads)
    whole = _counted(config, tokens)
    below = json.dumps(fields | {"num_hidden_layers": body}, sort_keys=True)
    return whole + (heads - 1) * (whole - _counted(below, tokens))  # the last layers, once more for each further head


def encoder_operations(config: dict[str, Any], tokens: int, every_token: bool, body: int, heads: int) -> int:
    """Multiply-adds of one pair in an encoder of `FAMILIES`, as `forward_flops` counts them on the model.

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

    with torch.device("meta"), no_init_weights():
        model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(**json.loads(config)))
        return forward_flops(model, {"input_ids": torch.zeros(1, tokens, dtype=torch.long)})


def encoder(study: Study, run: Run) -> dict[str, Any]:
    """The configuration of a run's encoder, as its fit recorded it, with the layers that the run keeps of it."""
    steps = lineage(run)
    backbone = steps[0].spec["backbone"]
    config = backbone.get("config") or study.run(run.name).facts["encoder"]
    layers = backbone.get("layers") or config["num_hidden_layers"]
    for step in steps:
        layers = step.spec.get("layers", layers)
    return {**config, "num_hidden_layers": layers}


def lineage(run: Run) -> list[Run]:
    """The fits that a model went through, the first one first."""
    before = lineage(run.parents["start"][0]) if "start" in run.parents else []
    return [*before, run]


def on_words(spec: dict[str, Any], words: Lengths) -> Work:
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
