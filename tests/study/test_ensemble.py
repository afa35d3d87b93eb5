"""Ensembles: what their weights are fitted to, and that published ones have them."""

from types import SimpleNamespace

import numpy
import pandas
import pytest

from as2lib.metrics.probability import sigmoid
from as2lib.models.ensemble import weigh
from as2lib.study.run import Run
from as2lib.study.scores import combined, fitted
from as2lib.study.store import StoredRun

PAIRS = pandas.DataFrame({"question_id": numpy.repeat(range(20), 2), "position": [0, 1] * 20, "label": [1, 0] * 20})
RIGHT = numpy.tile([0.9, 0.2], 20)


def member(**scores):
    tables = {split: PAIRS.assign(score=values) for split, values in scores.items()}
    return SimpleNamespace(name="", run=SimpleNamespace(orders_only=False), facts={}, scores=tables.__getitem__)


@pytest.mark.parametrize("combine", ["weighted", "logistic"])
def test_weights_are_fitted_to_dev_and_those_of_a_published_ensemble_combine_its_members(combine, tmp_path):
    members = [member(dev=RIGHT, test=1 - RIGHT), member(dev=1 - RIGHT, test=RIGHT)]
    data = {"dev": ("my:dev",), "test": ("my:test",)}
    run = Run("ensemble/tuned", "ensemble", 0, {"combine": combine, "trials": 20}, data)
    facts = fitted(run, members)
    assert facts["weights"][0] > facts["weights"][1]
    assert fitted(run, members) == facts
    assert combine == "logistic" or sum(facts["weights"]) == pytest.approx(1)
    published = StoredRun(run, "", tmp_path, facts, published={"files": {}}, members=tuple(members))
    values = [1 - RIGHT, RIGHT]
    weighted = numpy.average(values, axis=0, weights=facts["weights"])
    expected = weighted if combine == "weighted" else sigmoid(weigh(facts, values))
    for scores in (published.scores("test"), combined(run, facts, members, "test")):
        numpy.testing.assert_allclose(scores["score"], expected)
