"""Several scorers made one: functions of their scores or logits; knows no model.

m pairs · e members · c = 2 classes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy


def mean(scores: Sequence[Sequence[float]], weights: Sequence[float] | None = None) -> numpy.ndarray:
    """The members' mean score, (m,) float64.

    scores: one (m,) array a member, over the same pairs in the same order.  weights: (e,), not negative, not all 0;
    equal ones where left out.
    Raises ValueError where there is no member, or lengths differ.
    """
    members = numpy.stack([numpy.asarray(member, dtype=numpy.float64) for member in scores])  # (e, m)
    return members.mean(axis=0) if weights is None else numpy.average(members, axis=0, weights=weights)


def mean_logits(logits: Sequence[numpy.ndarray], weights: Sequence[float] | None = None) -> numpy.ndarray:
    """Logits of the members' mean probability, (m, c) float32: softmax of them is the mean of the softmaxes.

    logits: one (m, c) array a member, unnormalised.  weights: as in `mean`.
    """
    wide = [numpy.asarray(member, dtype=numpy.float64) for member in logits]
    log_softmax = [member - numpy.logaddexp.reduce(member, axis=-1, keepdims=True) for member in wide]
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

    scores: as in `mean`.  label: (m,) 0 or 1, both present.  Deterministic; scikit-learn's defaults.
    Source: GOVERN, section 4.4 (fitted on dev).
    """
    from sklearn.linear_model import LogisticRegression

    regression = LogisticRegression().fit(numpy.stack(scores, axis=1).astype(numpy.float64), numpy.asarray(label))
    return {"weights": regression.coef_[0].tolist(), "intercept": float(regression.intercept_[0])}


def weigh(fitted: Mapping[str, Any], scores: Sequence[Sequence[float]]) -> numpy.ndarray:
    """The log odds (m,) that a fitted logistic regression gives; their logistic function is the ensemble's score."""
    columns = numpy.stack(scores, axis=1).astype(numpy.float64)  # (m, e)
    return columns @ numpy.asarray(fitted["weights"]) + fitted["intercept"]
