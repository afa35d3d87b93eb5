"""Operations of a ranker, by formulas of its sizes: multiply-adds; reads no score and builds no model.

A word counts as a token; look-ups and norms are left out.
"""

from collections.abc import Callable, Mapping
from math import nan
from typing import Any, NamedTuple

from as2lib.study.run import Run

FAMILIES = ("albert", "bert", "electra", "mpnet", "roberta", "xlm-roberta")  # of `of_pair`
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


def operations(run: Run, facts_of: Callable[[Run], dict[str, Any]], words: Lengths) -> Work:
    """What a run computes to rank, by its specification and the sizes in its facts; nan where nobody knows.

    facts_of: what making a run measured, with the `encoder`'s sizes.
    """
    tokens = min(sum(words) + SPECIAL_TOKENS, run.spec.get("max_length", sum(words)))  # of a pair of mean words
    if run.kind == "lexical":
        return Work(0.0)
    if run.kind in ("ensemble", "shuffled"):
        parts = [operations(parent, facts_of, words) for parent in run.parent_runs()]
        return Work(sum(part.candidate for part in parts), sum(part.question for part in parts))
    if run.kind == "ranker" and run.scheme == "scores":
        return Work(nan)
    if run.kind == "ranker":
        facts = facts_of(run)
        if run.scheme == "cosine":  # two texts apart, each with a token before and behind it
            question, candidate = (of_pair(facts["encoder"], length + 2, True) for length in words)
            return Work(candidate, question)
        return Work(of_pair(facts["encoder"], tokens, **facts["shape"]))
    if "words" in run.spec:
        return on_words(run.spec["words"], words)
    heads = {name: run.spec["mhs"][name] for name in ("body", "heads")} if "mhs" in run.spec else {}
    return Work(of_pair(configuration(run, facts_of), tokens, run.reads_every_token(), **heads))


def configuration(run: Run, facts_of: Callable[[Run], dict[str, Any]]) -> dict[str, Any]:
    """Of a run's encoder, as its fit recorded it, with the layers that the run keeps of it."""
    specs = [step.spec for step in run.lineage()]
    backbone = specs[0]["backbone"]
    config = backbone.get("config") or facts_of(run)["encoder"]
    layers = backbone.get("layers") or config["num_hidden_layers"]
    for spec in specs:
        layers = spec.get("layers", layers)
    return {**config, "num_hidden_layers": layers}


def of_pair(
    config: Mapping[str, Any], tokens: float, every_token: bool = False, body: int | None = None, heads: int = 1
) -> float:
    """Multiply-adds of one pair of so many tokens, padding included, as `forward_flops` counts them on a model of
    `FAMILIES`; nan for another.

    A layer has 4 d² + 2 d f a token, and 2 n d a token in attention; for the first token alone 4 d² + 2 d f,
    and in attention 2 n d for each of a heads.  n tokens · d hidden units · f feed-forward units · a attention heads.

    config: the encoder's, with `model_type`.  every_token: whether the last layer computes every token, as the papers
    draw it, or the one that the classifier reads.  body, heads: of a multiple-heads student.
    """
    family, n = config["model_type"], round(tokens)
    if family not in FAMILIES:
        return nan
    d, f, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    body = layers - 1 if body is None else body  # a plain model: one head of one layer
    width = config.get("embedding_size", 128) if family in ("albert", "electra") else d
    layer = n * (4 * d**2 + 2 * d * f) + 2 * n**2 * d
    last = layer if every_token else 4 * d**2 + 2 * d * f + 2 * config["num_attention_heads"] * n * d
    projection = n * width * d if width != d or family == "albert" else 0
    head = (layers - body - 1) * layer + last + d**2 + d * CLASSES
    return projection + body * layer + heads * head


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
