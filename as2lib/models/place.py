"""A ranker's score and the candidate's place in the original order, combined by a regression; knows no model.

It compares the candidates of one question: an intercept, which does not rank, cancels, and how many candidates a
question has says nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy
import pandas

# m pairs
ALMOST = 2.0**-53  # the nearest that a float64 below 1 gets to it


def columns(score: Sequence[float], position: Sequence[int]) -> numpy.ndarray:
    """What is weighed, (m, 2) float64: the log odds of the score, and log(1 + position).

    score: (m,) P(correct).  position: (m,), from 0.
    """
    probability = numpy.asarray(score, dtype=numpy.float64).clip(ALMOST, 1 - ALMOST)
    odds = numpy.log(probability) - numpy.log1p(-probability)
    return numpy.stack([odds, numpy.log1p(numpy.asarray(position, dtype=numpy.float64))], axis=1)


def fit(
    question_id: Sequence[Any], label: Sequence[int], score: Sequence[float], position: Sequence[int]
) -> list[float]:
    """The two weights of `columns` for which the labels within the questions are likeliest; deterministic.

    question_id, label, score, position: (m,) of dev.  Questions whose candidates have one label say nothing.
    Source: McFadden 1974 (conditional logit).
    """
    from statsmodels.discrete.conditional_models import ConditionalLogit

    labels = pandas.Series(numpy.asarray(label))
    groups = labels.groupby(numpy.asarray(question_id))
    mixed = (groups.transform("max") != groups.transform("min")).to_numpy()
    questions = numpy.asarray(question_id)[mixed]
    model = ConditionalLogit(labels[mixed].to_numpy(), columns(score, position)[mixed], groups=questions)
    return model.fit(disp=0).params.tolist()
