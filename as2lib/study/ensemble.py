"""Scores of other runs combined: ensembles, and the calibration of what only orders candidates; knows no store."""

from collections.abc import Sequence
from typing import Any

import numpy
import pandas

from as2lib.metrics.probability import sigmoid
from as2lib.metrics.ranking import summary
from as2lib.models import ensemble as ensembles
from as2lib.study.run import Run

Platt = dict[str, dict[str, Any]]  # name of a run → its scaling


def calibration(child: Run, parents: Sequence[Any]) -> Platt:
    """Platt scaling on dev of what a run is made from, where it asks for that: "platt" of those parents whose scores
    only order candidates, "platt of all" of each.
    """
    wanted = child.spec.get("calibration")
    chosen = [parent for parent in parents if wanted and (wanted == "platt of all" or parent.run.orders_only)]
    dev = {parent.name: parent.scores("dev") for parent in chosen}
    return {
        name: ensembles.fit_platt(table["question_id"], table["label"], table["score"]) for name, table in dev.items()
    }


def fitted(run: Run, members: Sequence[Any]) -> dict[str, Any]:
    """An ensemble's facts: parameters, calibration, and what dev chose: weights, or a logistic regression."""
    parameters = [member.facts.get("parameters") for member in members]
    facts: dict[str, Any] = {} if None in parameters else {"parameters": sum(parameters)}  # of a file nobody knows them
    if platt := calibration(run, members):
        facts["calibration"] = platt
    if run.spec["combine"] == "mean":
        return facts
    dev, scores = members[0].scores("dev"), [_probabilities(member, "dev", platt) for member in members]

    def dev_map(score: numpy.ndarray) -> float:
        return summary(dev["question_id"], dev["label"], score)["MAP"]

    if run.spec["combine"] == "logistic":
        return facts | ensembles.fit_logistic(scores, dev["label"])
    weights = ensembles.tuned_weights(scores, dev_map, run.spec["trials"], run.seed)
    return facts | {"weights": weights, "dev_MAP": dev_map(ensembles.mean(scores, weights))}


def combined(run: Run, facts: dict[str, Any], members: Sequence[Any], split: str) -> pandas.DataFrame:
    """The pairs of a split with an ensemble's `score`, and its `last`, by the last weights of its members, where all
    have these.

    facts: its `weights` and the `calibration` of its members, where it has them: in their order, as another study that
    published it may call them otherwise.
    """
    columns, calibrations = {}, facts.get("calibration", {}).values()
    only_ordering = [member.name for member in members if member.run.orders_only] if calibrations else []
    platt = dict(zip(only_ordering, calibrations, strict=True))
    for column in ("score", "last") if all("last" in member.scores(split) for member in members) else ("score",):
        scores = [_probabilities(member, split, platt, column) for member in members]
        if run.spec["combine"] == "logistic":
            columns[column] = sigmoid(ensembles.weigh(facts, scores))
        else:
            columns[column] = ensembles.mean(scores, facts.get("weights"))
    return members[0].scores(split)[["question_id", "position", "label"]].assign(**columns)


def _probabilities(member: Any, split: str, platt: Platt, column: str = "score") -> numpy.ndarray:
    """A member's P(correct) over a split, (m,), by its `score` or its `last`, calibrated where `platt` says."""
    table = member.scores(split)
    scores = table[column].to_numpy()
    if member.name not in platt:
        return scores
    return ensembles.calibrated_scores(platt[member.name], scores, table["question_id"])
