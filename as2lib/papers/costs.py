"""Operations of a ranker, counted on a model of its sizes without weights: multiply-adds; reads no score.

A word counts as a token; look-ups and norms are left out.
"""

import json
from functools import cache
from typing import Any, NamedTuple

import numpy
import pandas

from as2lib.metrics.cost import forward_flops
from as2lib.study import Study, results
from as2lib.study.run import Run

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
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification
    from transformers.initialization import no_init_weights

    from as2lib.models.cross_encoder import build
    from as2lib.models.mhs import MHSConfig

    fields = json.loads(config)
    with torch.device("meta"), no_init_weights():
        if body is not None and not every_token:
            model = build(MHSConfig(fields, body, heads))
        elif every_token:
            model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model(**fields))
        else:
            model = build(fields)
        flops = forward_flops(model, {"input_ids": torch.zeros(1, tokens, dtype=torch.long)})
    if body is not None and every_token:  # the last layers, once more for each further head
        below = json.dumps(fields | {"num_hidden_layers": body}, sort_keys=True)
        flops += (heads - 1) * (flops - _of_pair(below, tokens, True))
    return flops


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
    """Of a model over static vectors; Cosinet reads a question once for all its candidates.  spec: a run's `words`."""
    import torch

    from as2lib.models.compare_aggregate import CompareAggregate
    from as2lib.models.cosinet import Cosinet

    question, candidate = round(words.question), round(words.candidate)
    build = {"cosinet": Cosinet, "compare_aggregate": CompareAggregate}[spec["type"]]
    shape = {name: value for name, value in spec.items() if name not in ("type", "vectors")}
    model = build(torch.zeros(question + 2 * candidate, spec["vectors"]["dimensions"]), **shape)

    def count(candidates: int) -> int:  # of texts whose words all differ
        batch = {
            "question_words": torch.arange(question),
            "question_lengths": torch.tensor([question]),
            "candidate_words": torch.arange(question, question + candidates * candidate),
            "candidate_lengths": torch.full((candidates,), candidate),
            "candidates": torch.tensor([candidates]),
        }
        return forward_flops(model, batch)

    one, two = count(1), count(2)
    return Work(two - one, 2 * one - two)
