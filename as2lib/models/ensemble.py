"""Several scorers made one, and scores that only order candidates made probabilities; knows no model.

m pairs · e members · c = 2 classes
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import pandas

from as2lib.metrics import probability

LARGEST = 1e30  # stands for a logit that is infinite


def mean(scores: Sequence[Sequence[float]], weights: Sequence[float] | None = None) -> numpy.ndarray:
    """The members' mean score, (m,) float64.

    scores: (e, m), over the same pairs in the same order.  weights: (e,), not negative, not all 0; default: equal.
    """
    return numpy.average(numpy.asarray(scores, dtype=numpy.float64), axis=0, weights=weights)


def mean_logits(logits: Sequence[numpy.ndarray], weights: Sequence[float] | None = None) -> numpy.ndarray:
    """Logits whose softmax is the members' mean softmax, (m, c) float32.  logits: (e, m, c).  weights: as in `mean`."""
    wide = numpy.asarray(logits, dtype=numpy.float64)
    log_softmax = wide - numpy.logaddexp.reduce(wide, axis=-1, keepdims=True)
    return numpy.log(mean(numpy.exp(log_softmax), weights).clip(numpy.finfo("float32").tiny)).astype(numpy.float32)


def tuned_weights(
    scores: Sequence[Sequence[float]], value: Callable[[numpy.ndarray], float], trials: int, seed: int
) -> list[float]:
    """The weights, (e,) that sum to 1, for which `value` of the weighted mean is highest.

    value: what is measured of the combined scores, such as MAP on dev.  trials: weights that are tried, equal ones
    first, the others proposed by Optuna's seeded tree-structured Parzen estimator; among equals the first is kept.
    Source: CERBERUS, section 3.2 (ensembles of rows 10-12).
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"weight {i}" for i in range(len(scores))]

    def objective(trial) -> float:
        weights = [trial.suggest_float(name, 0.0, 1.0) for name in names]
        return value(mean(scores, weights)) if sum(weights) else 0.0

    search = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    search.enqueue_trial(dict.fromkeys(names, 0.5))
    search.optimize(objective, n_trials=trials)
    best = max(search.trials, key=lambda trial: (trial.value, -trial.number))
    weights = numpy.array([best.params[name] for name in names])
    return (weights / weights.sum()).tolist()


def fit_logistic(scores: Sequence[Sequence[float]], label: Sequence[int]) -> dict[str, Any]:
    """A logistic regression over the members' scores: `weights`, one a member, and `intercept`.

    scores: (e, m).  label: (m,) 0 or 1, both present.  Deterministic; scikit-learn's defaults.
    Source: GOVERN, section 4.4 (fitted on dev).
    """
    from sklearn.linear_model import LogisticRegression

    regression = LogisticRegression().fit(numpy.stack(scores, axis=1).astype(numpy.float64), numpy.asarray(label))
    return {"weights": regression.coef_[0].tolist(), "intercept": float(regression.intercept_[0])}


def weigh(fitted: Mapping[str, Any], scores: Sequence[Sequence[float]]) -> numpy.ndarray:
    """The log odds, (m,), that a fitted logistic regression gives for scores (e, m)."""
    columns = numpy.stack(scores, axis=1).astype(numpy.float64)  # (m, e)
    return columns @ numpy.asarray(fitted["weights"]) + fitted["intercept"]


def log_shares(scores: Sequence[float], question_id: Sequence[Any]) -> numpy.ndarray:
    """The log of each candidate's share of its question, (m,) float64: of the softmax over the question's candidates.

    That is what a list-wise or pair-wise loss teaches, which reads differences within a question: what its model calls
    P(correct) is far from it.  scores: (m,) log odds.
    """
    wide = numpy.asarray(scores, dtype=numpy.float64).clip(-LARGEST, LARGEST)
    question = pandas.factorize(numpy.asarray(question_id))[0]
    top = numpy.full(question.max() + 1, -numpy.inf)
    numpy.maximum.at(top, question, wide)
    below = wide - top[question]
    return below - numpy.log(numpy.bincount(question, numpy.exp(below)))[question]


def fit_platt(question_id: Sequence[Any], label: Sequence[int], score: Sequence[float]) -> dict[str, Any]:
    """Platt scaling of a teacher: the logistic regression of the label on the log share; returns as `fit_logistic`.

    question_id, label, score: (m,) of dev; score is P(correct) as the model has it.  Questions without a correct
    candidate are left out, as they are of what students learn from.
    Source: Platt 1999, section 2.
    """
    ids, labels = numpy.asarray(question_id), numpy.asarray(label)
    answered = numpy.isin(ids, ids[labels == 1])
    odds = probability.log_odds(numpy.asarray(score)[answered])
    return fit_logistic([log_shares(odds, ids[answered])], labels[answered])


def calibrated(platt: Mapping[str, Any], logits: numpy.ndarray, question_id: Sequence[Any]) -> numpy.ndarray:
    """Logits, (m, c) float32, whose softmax is the calibrated P(correct).

    platt: from `fit_platt`.  logits: (m, c), the teacher's own, all candidates of each question.
    """
    wide = numpy.asarray(logits, dtype=numpy.float64).clip(-LARGEST, LARGEST)
    log_odds = weigh(platt, [log_shares(wide[:, 1] - wide[:, 0], question_id)])
    return numpy.stack([numpy.zeros_like(log_odds), log_odds], axis=1).astype(numpy.float32)


def calibrated_scores(platt: Mapping[str, Any], score: Sequence[float], question_id: Sequence[Any]) -> numpy.ndarray:
    """The calibrated P(correct), (m,) float64, of scores that a model called P(correct)."""
    return probability.sigmoid(weigh(platt, [log_shares(probability.log_odds(score), question_id)]))
