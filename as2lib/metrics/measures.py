"""Measures by name, as `ir_measures` computes them; knows no tie rule, policy, file or model."""

import warnings
from collections.abc import Mapping, Sequence

import ir_measures
import pandas as pd

Judgements = Mapping[str, Mapping[str, int]]  # grades by question and candidate
Run = Mapping[str, Mapping[str, float]]  # scores by question and candidate


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


def calculate(judgements: Judgements, run: Run, measures: Sequence[str]) -> pd.DataFrame:
    """Each measure of each judged question: index the question, columns the names, in their order.

    A judged question that the run lacks has each measure's lowest value, 0.  Ties are broken as trec_eval does, by the
    candidates' names.  Raises ValueError as `parse`.
    """
    parsed = {parse(name): name for name in measures}
    table = pd.DataFrame(0.0, index=pd.Index(judgements, name="question_id"), columns=list(measures))
    if not judgements or not measures:
        return table
    values: dict[str, dict[str, float]] = {name: {} for name in measures}
    for metric in ir_measures.iter_calc(list(parsed), judgements, run):
        values[parsed[metric.measure]][metric.query_id] = metric.value
    for name, by_question in values.items():
        table[name] = pd.Series(by_question, dtype=float).reindex(table.index)
    return table
