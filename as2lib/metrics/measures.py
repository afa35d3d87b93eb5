"""Measures by name, as `ir_measures` computes them; knows no tie rule, policy, file or model."""

import warnings
from collections.abc import Sequence

import ir_measures
import pandas as pd


def parse(name: str) -> ir_measures.Measure:
    """The measure of a name such as "R@100", "RR@10", "Success@5" or "nDCG@10".

    Raises ValueError for a name that ir_measures does not know, or a measure that needs more than is installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the syntax tree that it reads names by
            measure = ir_measures.parse_measure(name)
            supported = ir_measures.DefaultPipeline.supports(measure)
    except (NameError, ValueError, TypeError, KeyError, AttributeError, AssertionError):
        supported = False
    if not supported:
        raise ValueError(
            f'measures: expected names that ir_measures computes, such as "R@100" or "RR@10"; got {name!r}'
        )
    return measure


def calculate(judgements: pd.DataFrame, run: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Each measure of each judged question: index the question, first seen first, columns the names, in their order.

    judgements: columns question_id, candidate_id, grade.  run: columns question_id, candidate_id, score; ids are texts.
    A judged question that the run lacks has each measure's lowest value, 0.  Ties are broken as trec_eval does, by the
    candidates' names.  Raises ValueError as `parse`.
    """
    measures = {name: parse(name) for name in names}
    questions = pd.Index(judgements["question_id"].unique(), name="question_id")
    qrels = judgements.set_axis(["query_id", "doc_id", "relevance"], axis=1)
    scored = run.set_axis(["query_id", "doc_id", "score"], axis=1)
    values: dict[ir_measures.Measure, dict[str, float]] = {measure: {} for measure in measures.values()}
    for metric in ir_measures.iter_calc(list(values), qrels, scored) if len(questions) and values else ():
        values[metric.measure][metric.query_id] = metric.value
    columns = {name: pd.Series(values[measure], dtype=float) for name, measure in measures.items()}
    return pd.DataFrame(
        {name: column.reindex(questions, fill_value=0.0) for name, column in columns.items()}, questions
    )
