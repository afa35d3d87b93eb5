"""What a study takes, before it is made: by formula, by what fits took here, and by several workers side by side."""

import json

import pytest

from as2lib import Study
from as2lib.study import estimate
from as2lib.study.recipes import Encoder, Ranker
from as2lib.study.run import Run
from as2lib.study.worker import Queue
from tests.first_hour.hub_like import ROOT
from tests.study.conftest import backbone

DATA = {"train": ("pool:train",), "dev": ("pool:dev",)}


def fit(name="base", steps=100, parents=None, layers=2, **recipe) -> Run:
    training = {"steps": steps, "batch_size": 8, "learning_rate": 1e-3}
    if not parents:
        recipe["backbone"] = backbone("electra", 16, layers)
    encoder = Encoder(training=training, max_length=24, data=DATA, **recipe)
    return Run(f"{name}/seed-0", encoder, 0, {"start": parents} if parents else {})


def test_a_fit_s_operations_are_those_of_its_steps_and_of_its_scores():
    per_token = 2 * (2 * (4 * 16**2 + 2 * 16 * 32) + 4 * 24 * 16)
    assert estimate.operations(fit()) == per_token * (3 * 100 * 8 * 24 + 24 * estimate.PAIRS_OF_OTHERS)
    assert estimate.operations(fit(steps=200)) > 1.05 * estimate.operations(fit())
    assert estimate.parameters(fit(layers=4)) > estimate.parameters(fit())
    assert estimate.sizes(fit("adapted", parents=(fit(layers=4),))) == (4, 16, 32)


def test_a_ranker_taken_as_it_is_costs_what_its_scores_do(tmp_path):
    config = {"num_hidden_layers": 3, "hidden_size": 16, "intermediate_size": 32}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for source, layers in ((f"cosine:{tmp_path}", 3), (str(tmp_path), 3), (f"{tmp_path}/their.run", 0)):
        ranker = Run("ranker/theirs", Ranker(source=source, max_length=24, data={"test": ("pool:test",)}), None)
        per_token = layers * (2 * (4 * 16**2 + 2 * 16 * 32) + 4 * 24 * 16)
        assert estimate.operations(ranker) == per_token * 24 * estimate.PAIRS_OF_OTHERS


@pytest.mark.parametrize(("workers", "expected"), [(1, 10.0), (2, 6.0), (9, 6.0)])
def test_workers_take_the_longest_chain_first_and_wait_for_parents(workers, expected):
    long = fit("long", 3)
    plan = {run.name: run for run in (fit("short", 1), fit("other", 3), long, fit("child", 3, (long,)))}
    queue = Queue(plan, dict.fromkeys(plan, True), lambda run: run.recipe.training["steps"])
    assert next(queue.ready(set().__contains__)) == "long/seed-0"
    assert estimate.wall_time(queue, lambda run: run.recipe.training["steps"], plan, workers) == expected


def test_four_gpus_are_busy_over_the_plan_of_paper(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    plan = Study.load("paper").plan

    def steps(run) -> float:
        return float(run.spec["training"].get("steps", 500)) if run.kind == "fit" else 1.0

    queue = Queue(plan, dict.fromkeys(plan, True), steps)
    assert sum(map(steps, plan.values())) / (4 * estimate.wall_time(queue, steps, plan, 4)) > 0.95
