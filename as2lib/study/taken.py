"""Rankers without a fit: one that learns nothing, a model of others, or what others published.

m pairs
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from as2lib.data.pairs import load_parts
from as2lib.data.teacher_scores import TeacherScores
from as2lib.metrics.probability import sigmoid
from as2lib.models import lexical
from as2lib.study.recipes import Lexical, sizes_of
from as2lib.study.store import Task, file_at, write_scores


def ranker(task: Task) -> dict[str, Any]:
    """Score a run's splits; returns its facts: `parameters` where known, of a model the sizes that cost."""
    model, scores_of = scorer(task.run.recipe, task.store.study.precision)
    for split, parts in task.run.data.items():
        pairs = load_parts(tuple(parts), "all")
        write_scores(task.folder / "scores" / f"{split}.parquet", pairs, scores_of(pairs))
    if model is None:
        return {"parameters": 0} if isinstance(task.run.recipe, Lexical) else {}  # of a file nobody knows them
    return facts_of(model)


def scorer(recipe: Any, precision: str) -> tuple[Any, Callable[[Any], numpy.ndarray]]:
    """A ranker's model, None where there is none, and the function that scores pairs."""
    if isinstance(recipe, Lexical):
        return None, getattr(lexical, recipe.scorer)
    if recipe.scheme == "scores":
        return None, partial(of_table, recipe.source)
    if recipe.scheme == "cosine":
        from as2lib.models.embedding import SentenceEncoder
        from as2lib.precision import computing_on

        encoder = SentenceEncoder(recipe.name, computing_on())
        return encoder.model, lambda pairs: (1 + encoder.cosine(pairs)) / 2
    from as2lib.ranker import Ranker
    from as2lib.score import score

    is_released = recipe.scheme == "cerberus"
    ready = released(recipe) if is_released else Ranker.load(recipe.name, max_length=recipe.max_length)
    return ready.model, lambda pairs: score(ready.model, pairs, ready.encoder, precision).score


def released(recipe: Any) -> Any:
    """The student of the CERBERUS paper, from its released state dict."""
    from as2lib.data.encode import load_encoder
    from as2lib.models.cross_encoder import configuration
    from as2lib.models.mhs import MHSForSequenceClassification
    from as2lib.ranker import Ranker

    student = MHSForSequenceClassification.from_cerberus(file_at(recipe.name), configuration(recipe.backbone))
    return Ranker(student, load_encoder(recipe.backbone, max_length=recipe.max_length))


def facts_of(model: Any) -> dict[str, Any]:
    shape = {key: value for key in ("body", "heads") if isinstance(value := getattr(model.config, key, None), int)}
    parameters = sum(weights.numel() for weights in model.parameters())
    return {"parameters": parameters, "encoder": sizes_of(model), "shape": shape}


def of_table(source: str, pairs: Any) -> numpy.ndarray:
    """P(correct) of some pairs as a table of scores has it, (m,).

    Raises ValueError, that names the file, where log odds differ of which a probability does not tell.
    """
    path = file_at(source)
    log_odds = TeacherScores.read(path).of(pairs)
    scores = sigmoid(log_odds)
    if len(numpy.unique(log_odds[scores == 1])) > 1:
        raise ValueError(f"{path}: expected P(correct), or log odds up to 36, got {log_odds.max():g}; scale them")
    return scores
