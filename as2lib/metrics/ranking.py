"""How well scores rank the candidates of each question, for arrays of any source; knows no model, loss or data set.

Ties are broken against the system: among equal scores of a question the incorrect candidates come first. The rows of a
question may stand anywhere. The policy `questions` says which questions count: those "answered" by at least one
correct candidate (the default), those "mixed" with an incorrect one as well, or "all" (without a correct one: 0).
A score is any number, infinite ones too: an order is all that is read of it. Log odds keep apart what probabilities,
1.0 above a margin of 37, do not.
"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from as2lib.metrics.questions import Questions

# n rows (question and candidate) · q questions, coded from 0 in first-seen order · m correct candidates
POLICIES = ("answered", "mixed", "all")
MEASURES = ("P@1", "AP", "RR", "nDCG@10")
MEANS = {"AP": "MAP", "RR": "MRR"}  # what a measure's mean is called where it has a name of its own
CUTOFF = 10

Values: TypeAlias = Sequence[Any] | np.ndarray | pd.Series


class Rows(NamedTuple):
    """What `read` returns: rows of n candidates that are fit to be measured."""

    names: pd.Index  # (q,) question ids, first seen first
    question: np.ndarray  # (n,) codes into names
    correct: np.ndarray  # (n,) bool
    score: np.ndarray  # (n,) float64, none of them nan
    sizes: np.ndarray  # (q,) candidates
    hits: np.ndarray  # (q,) correct candidates


def per_question(
    question_id: Values, label: Values, score: Values, questions: str = "answered", measures: Sequence[str] = MEASURES
) -> pd.DataFrame:
    """P@1, average precision, reciprocal rank and nDCG@10 of each question, or other measures by name.

    AP = mean over the correct candidates of (how many correct ones stand at or above it) / rank;  RR = 1 / rank of the
    first;  nDCG@10 = sum over the correct ones in the first ten of 1 / log2(1 + rank), over its highest possible value

    question_id: (n,) any ids.  label: (n,) 0 or 1.  score: (n,) numbers, not nan, higher is better.
    measures: of these four, or any that ir_measures (of the extra [study]) has ("R@100", "RR@10"), from our order.
    Returns a table with index `question_id`, first seen first, and a column a measure; it has no rows where the policy
    keeps no question.
    Raises ValueError on empty input, lengths that differ, labels other than 0 and 1, a score that is nan or no number,
    missing ids, an unknown policy, or an unknown measure.
    Source: trec_eval's P_1, map, recip_rank and ndcg_cut_10, but for ties.  Their means: `summary`.
    """
    rows = read(question_id, label, score)
    keep = kept(rows.sizes, rows.hits, questions)
    values = dict(zip(MEASURES, _measure(rows)[:, keep], strict=True))
    others = [name for name in measures if name not in values]
    if others:
        order = against_the_system(rows)
        order = order[keep[rows.question[order]]]
        ids = {"query_id": rows.question[order].astype(str), "doc_id": order.astype(str)}
        qrels = pd.DataFrame({**ids, "relevance": rows.correct[order].astype(int)})
        run = pd.DataFrame({**ids, "score": -np.arange(float(len(order)))})  # without ties, in our order
        values |= zip(others, calculate(qrels, run, others).to_numpy().T, strict=True)
    return pd.DataFrame({name: values[name] for name in measures}, index=rows.names[keep])


def summary(
    question_id: Values, label: Values, score: Values, questions: str = "answered", measures: Sequence[str] = MEASURES
) -> dict[str, float | int]:
    """The mean of each measure over the questions that the policy keeps, and how many these are.

    Arguments as in `per_question`. The means do not depend on the order of the questions, to the last bit.
    Returns P@1, MAP, MRR, nDCG@10 (or the names of other measures), `questions`.
    Raises as `per_question`, and where the policy keeps no question.
    """
    values = per_question(question_id, label, score, questions, measures)
    if values.empty:
        raise ValueError(f'expected at least one question to average over, got none under questions="{questions}"')
    means = {MEANS.get(name, name): math.fsum(column) / len(values) for name, column in values.items()}
    return means | {"questions": len(values)}


def top(question_id: Values, label: Values, score: Values) -> pd.Series:
    """The row of each question's highest-scored candidate, an incorrect one where it is tied with a correct one.

    Arguments and errors as in `per_question`.  Among tied candidates of one label it is the first row.
    Returns (q,) row numbers from 0, index `question_id`, first seen first, for every question.
    """
    rows = read(question_id, label, score)
    order = against_the_system(rows)
    return pd.Series(order[np.cumsum(rows.sizes) - rows.sizes], index=rows.names, name="row")


def against_the_system(rows: Rows) -> np.ndarray:
    """(n,) rows by question, in each the highest score first and, among equal scores, what is incorrect."""
    return np.lexsort((rows.correct, -rows.score, rows.question))


def kept(candidates: np.ndarray, correct: np.ndarray, questions: str) -> np.ndarray:
    """Which questions a policy keeps, (q,) bool, from the (q,) numbers of candidates and of correct ones."""
    if questions not in POLICIES:
        raise ValueError(f"questions must be one of {', '.join(POLICIES)}; got {questions!r:.60}")
    return (questions == "all") | (correct > 0) & ((questions != "mixed") | (correct < candidates))


def paired(a: Values, b: Values) -> tuple[np.ndarray, np.ndarray]:
    """The values of two systems as float64 arrays: two frames or series paired by their index, else by position.

    Raises ValueError where an index repeats a question, the questions differ, or a frame has several measures.
    """
    for values in (a, b):
        if len(names := {name for name in getattr(values, "columns", ()) if name in MEASURES or "@" in str(name)}) > 1:
            raise ValueError(f"expected the values of one measure, a column, got those of {', '.join(sorted(names))}")
    if isinstance(a, pd.Series | pd.DataFrame) and isinstance(b, pd.Series | pd.DataFrame):
        different = a.index.symmetric_difference(b.index).union(a.index[a.index.duplicated()])
        different = different.union(b.index[b.index.duplicated()])
        if len(different):
            raise ValueError(f"expected the same questions in both indexes, each once; not so of {different[0]!r}")
        b = b.reindex(a.index)
    return np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)


def _measure(rows: Rows) -> np.ndarray:
    """The four measures, (4, q); the gains are added best first, as in `ideal`, so that a perfect nDCG is exactly 1."""
    order = against_the_system(rows)
    correct = rows.correct[order]
    owner = rows.question[order][correct]  # (m,) of the correct candidates, the best one first
    rank = Questions.together(rows.question[order]).place[correct] + 1
    place = Questions.together(owner).place + 1  # among the correct ones
    gain = np.where(rank <= CUTOFF, 1 / np.log2(1 + rank), 0.0)
    ideal = np.cumsum(np.append(0.0, 1 / np.log2(1 + np.arange(1, CUTOFF + 1))))
    precise, dcg, reciprocal, hit = (
        np.bincount(owner, weights=part, minlength=len(rows.hits))
        for part in (place / rank, gain, np.where(place == 1, 1 / rank, 0.0), rank == 1)
    )
    at_least_one = np.maximum(rows.hits, 1)  # a question without a correct candidate: 0 / 1
    return np.stack([hit, precise / at_least_one, reciprocal, dcg / ideal[np.minimum(at_least_one, CUTOFF)]])


def calculate(qrels: pd.DataFrame, run: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Measures of each judged question as ir_measures computes them: index question_id, first seen first.

    qrels: columns query_id, doc_id, relevance.  run: query_id, doc_id, score, without ties.  Ids are texts.
    A judged question that the run lacks has 0.  Raises ValueError as `measure_named`.
    """
    import ir_measures

    measures = {name: measure_named(name) for name in names}
    questions = pd.Index(qrels["query_id"].unique(), name="question_id")
    try:
        metrics = [*ir_measures.iter_calc({*measures.values()}, qrels, run)] if len(questions) else []
    except Exception as error:  # of any kind: each measure has an evaluator of its own
        raise ValueError(f"measures: expected some that ir_measures computes here, got {names}: {error}") from None
    values = {(metric.measure, metric.query_id): metric.value for metric in metrics}
    rows = [[values.get((measure, question), 0.0) for measure in measures.values()] for question in questions]
    return pd.DataFrame(rows, questions, names, dtype=float)


def measure_named(name: str) -> Any:
    """The measure of a name such as "R@100" or "Success@5"; ValueError for what ir_measures does not compute here.

    A cutoff or a grade below 1 is refused before its evaluators see it: one of them ends the process.
    """
    import ir_measures  # of the extra [study]; our four do without

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the syntax tree that it reads names by
            measure = ir_measures.parse_measure(name)
            supported = ir_measures.DefaultPipeline.supports(measure)
        numbers = [measure.params.get(key, 1) for key in ("cutoff", "rel")]
        supported = supported and all(1 <= number < 2**31 for number in numbers)
    except (NameError, ValueError, TypeError, KeyError, AttributeError, AssertionError):
        supported = False
    if not supported:
        raise ValueError(f'measures: expected some of ir_measures, such as "R@100" or "RR@10"; got {name!r}')
    return measure


def require_measures(names: Sequence[str]) -> None:
    """Raises ValueError for a name that `measure_named` refuses, and where there is none."""
    for name in names or [""]:
        if name not in MEASURES:
            measure_named(name)


def scale(name: str) -> int:
    """By which a measure is shown: 100, in percent; 1 for one that counts, such as NumRet."""
    return 1 if name.startswith("Num") else 100


def read(question_id: Values, label: Values, score: Values) -> Rows:
    """The arguments of `per_question`, checked, and what is counted of each question; its errors."""
    ids, label, scores = (_column(values) for values in (question_id, label, score))
    if not 0 < len(ids) == len(label) == len(scores):
        lengths = f"{len(ids)}, {len(label)} and {len(scores)}"
        raise ValueError(f"expected rows of question_id, label and score, as many of each; got {lengths}")
    names, question = encode_ids(ids)
    correct, incorrect = (label.eq(value).fillna(False).to_numpy(dtype=bool) for value in (1, 0))
    _require(correct | incorrect, "label must be 0 or 1", label)
    score = scores.to_numpy(dtype=np.float64)
    _require(~np.isnan(score), "score must be a number", scores)
    counts = np.bincount(question), np.bincount(question[correct], minlength=len(names))
    return Rows(names, question, correct, score, *counts)


def _column(values: Values) -> pd.Series:
    """One value a row; of a list, an array, a Series, or a column of a data set."""
    return pd.Series(values if isinstance(values, np.ndarray | pd.Series) else list(values[:]))


def encode_ids(question_id: Values) -> tuple[pd.Index, np.ndarray]:
    """Distinct ids (index `question_id`, first seen first) and each row's code; ValueError where one is missing."""
    ids = pd.Series(question_id)
    _require(ids.notna().to_numpy(), "question_id must be given for every row", ids)
    code, names = pd.factorize(ids)
    return pd.Index(names, name="question_id"), code


def _require(valid: np.ndarray, rule: str, values: pd.Series) -> None:
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(f"{rule}; row {row} has {values.tolist()[row]!r}")
