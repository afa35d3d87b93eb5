"""Platt scaling of a list-wise teacher: P(correct) from scores that only order a question's candidates; fits no model.

A list-wise loss reads differences within a question, so what such a model calls P(correct) is far from it. What it has
learnt is each candidate's share, the softmax of the scores over the question's candidates.
n pairs · c = 2 classes
"""

from collections.abc import Sequence
from typing import Any

import numpy
import pandas
from scipy.special import logit

from as2lib.models import ensemble

ALMOST = 2.0**-53  # the nearest that a float64 below 1 gets to it


def log_shares(margin: Sequence[float], question_id: Sequence[Any]) -> numpy.ndarray:
    """The log of each candidate's share of its question, (n,) float64: shares of a question sum to 1.

    margin: (n,) log odds, or any score that a list-wise loss was given.  question_id: (n,).
    """
    wide = numpy.asarray(margin, dtype=numpy.float64)
    _, question = numpy.unique(numpy.asarray(question_id), return_inverse=True)
    top = numpy.full(question.max() + 1, -numpy.inf)
    numpy.maximum.at(top, question, wide)
    below = wide - top[question]
    return below - numpy.log(numpy.bincount(question, numpy.exp(below)))[question]


def fit_platt(scores: pandas.DataFrame) -> dict[str, Any]:
    """The logistic regression of the label on the log share: `weights`, of one entry, and `intercept`.

    scores: of dev, with question_id, label and score, P(correct).  Questions without a correct candidate are left out,
    as they are of what students learn from: so the mean probability is the share of correct candidates there.
    Source: Platt 1999, section 2.
    """
    answered = scores[scores.groupby("question_id")["label"].transform("max") == 1]
    margin = logit(answered["score"].to_numpy(dtype=numpy.float64).clip(ALMOST, 1 - ALMOST))
    return ensemble.fit_logistic([log_shares(margin, answered["question_id"])], answered["label"])


def calibrated(fitted: dict[str, Any], logits: numpy.ndarray, question_id: Sequence[Any]) -> numpy.ndarray:
    """Logits, (n, c) float32, whose softmax is the calibrated P(correct).

    fitted: from `fit_platt`.  logits: (n, c), the teacher's own, all candidates of each question.
    """
    wide = logits.astype(numpy.float64)
    log_odds = ensemble.weigh(fitted, [log_shares(wide[:, 1] - wide[:, 0], question_id)])
    return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)
