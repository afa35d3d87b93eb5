"""P(correct) of a teacher whose scores only order a question's candidates, by Platt scaling on dev; fits no model.

A list-wise or pair-wise loss reads differences within a question, so what such a model calls P(correct) is far from it.
What it has learnt is each candidate's share, the softmax of the scores over the question's candidates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from as2lib.metrics import probability
from as2lib.metrics.questions import Questions
from as2lib.models import ensemble

# m pairs · c = 2 classes
LARGEST = 1e30  # stands for a logit that is infinite


def log_shares(scores: Sequence[float], question_id: Sequence[Any]) -> numpy.ndarray:
    """The log of each candidate's share of its question, (m,) float64: shares of a question sum to 1.

    scores: (m,) log odds, or any score that such a loss was given.  question_id: (m,).
    """
    wide = numpy.asarray(scores, dtype=numpy.float64).clip(-LARGEST, LARGEST)
    question = Questions.anywhere(question_id).code
    top = numpy.full(question.max() + 1, -numpy.inf)
    numpy.maximum.at(top, question, wide)
    below = wide - top[question]
    return below - numpy.log(numpy.bincount(question, numpy.exp(below)))[question]


def fit_platt(question_id: Sequence[Any], label: Sequence[int], score: Sequence[float]) -> dict[str, Any]:
    """The logistic regression of the label on the log share: `weights`, of one entry, and `intercept`.

    question_id, label, score: (m,) of dev; score is P(correct) as the model has it.
    Questions without a correct candidate are left out, as they are of what students learn from: so the mean probability
    is the share of correct candidates there.
    Source: Platt 1999, section 2.
    """
    ids, labels = numpy.asarray(question_id), numpy.asarray(label)
    answered = numpy.isin(ids, ids[labels == 1])
    odds = probability.log_odds(numpy.asarray(score)[answered])
    return ensemble.fit_logistic([log_shares(odds, ids[answered])], labels[answered])


def calibrated(platt: Mapping[str, Any], logits: numpy.ndarray, question_id: Sequence[Any]) -> numpy.ndarray:
    """Logits, (m, c) float32, whose softmax is the calibrated P(correct).

    platt: from `fit_platt`.  logits: (m, c), the teacher's own, all candidates of each question.
    """
    wide = numpy.asarray(logits, dtype=numpy.float64).clip(-LARGEST, LARGEST)
    log_odds = ensemble.weigh(platt, [log_shares(wide[:, 1] - wide[:, 0], question_id)])
    return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)


def calibrated_scores(platt: Mapping[str, Any], score: Sequence[float], question_id: Sequence[Any]) -> numpy.ndarray:
    """The calibrated P(correct), (m,) float64, of scores that a model called P(correct).  score, question_id: (m,)."""
    return probability.sigmoid(ensemble.weigh(platt, [log_shares(probability.log_odds(score), question_id)]))
