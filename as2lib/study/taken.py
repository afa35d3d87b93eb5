"""Rankers without a fit: one that learns nothing, a model of others, or what others published.

m pairs
"""

import csv
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
import pandas

from as2lib.data.pairs import load_parts
from as2lib.data.teacher_scores import TeacherScores
from as2lib.metrics.probability import sigmoid
from as2lib.models import lexical
from as2lib.study.recipes import Lexical, sizes_of
from as2lib.study.store import Task, file_at, write_scores

RUN_COLUMNS = ["question", "zero", "candidate", "rank", "score", "tag"]  # the columns of a TREC run


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
    if recipe.scheme == "run":
        return None, partial(of_run, recipe.source)
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


def of_run(source: str, pairs: Any) -> numpy.ndarray:
    """A TREC run's scores of some pairs, (m,): by the ids of questions and candidates, else row by row.

    Ids are the pairs' own, a candidate's also its question's with its position; a run that has none of the questions'
    ids numbers questions and candidates in their order.  What it leaves out is behind all that it has.
    Raises ValueError that names the file where it is neither.
    """
    path = file_at(source)
    try:
        ids = {"question": str, "candidate": str}
        options = {"sep": r"\s+", "header": None, "names": RUN_COLUMNS, "dtype": ids}
        run = pandas.read_csv(path, keep_default_na=False, quoting=csv.QUOTE_NONE, **options)  # any text is an id
        scores = run["score"].to_numpy(dtype=float)
    except ValueError as error:
        raise ValueError(f"{path}: expected a TREC run ({' '.join(RUN_COLUMNS)}), got {error}") from None
    if not numpy.isfinite(scores).all():
        raise ValueError(f"{path}: expected numbers for scores, got {scores[~numpy.isfinite(scores)][0]}")
    if not ((scores > 0) & (scores < 1)).all():  # no probabilities: their order stays, whatever their size
        _, place = numpy.unique(scores, return_inverse=True)
        scores = (place + 1) / (place.max() + 2)
    ids = pandas.Series(pairs["question_id"][:]).astype(str)
    if set(ids) & set(run["question"]):
        position = ids.groupby(ids).cumcount().astype(str)
        names = pairs["candidate_id"][:] if "candidate_id" in pairs.column_names else [None] * len(ids)
        known = dict(zip(zip(run["question"], run["candidate"], strict=True), scores, strict=True))
        places = zip(ids, names, ids + "-" + position, strict=True)
        aligned = [known.get((key, name), known.get((key, numbered))) for key, name, numbered in places]
        if missing := sum(score is None for score in aligned):
            if missing == len(aligned):
                raise ValueError(f"{path}: expected candidates named as the pairs', got {run['candidate'][0]}")
            aligned = [scores.min() / 2 if score is None else score for score in aligned]
        return numpy.array(aligned, dtype=float)
    sizes, of_pairs = (column.groupby(column, sort=False).size().tolist() for column in (run["question"], ids))
    if sizes != of_pairs:
        expected = f"expected {len(ids)} pairs of {len(of_pairs)} questions in their order"
        raise ValueError(f"{path}: {expected}, got {len(run)} of {len(sizes)}")
    return scores
