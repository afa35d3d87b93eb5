"""A search is a static grid of ordinary runs and one that picks."""

import json

from as2lib import Study
from as2lib.papers import plan
from as2lib.runs.files import write_json
from as2lib.runs.search import settled
from as2lib.runs.store import Store

GRID = {"grid.alpha": [0.0, 0.9], "grid.learning_rate": [1e-3, 2e-3, 3e-3]}


def test_without_a_grid_and_with_one_point_a_key_nothing_is_searched(root):
    assert not [name for name in plan(Study.load("tiny")) if name.startswith(("grid/", "select/"))]
    assert plan(Study.load("tiny", {"grid.tau": [5.0]})).keys() == plan(Study.load("tiny")).keys()


def test_every_point_is_one_fit_and_all_seeds_take_the_best(root):
    runs = plan(Study.load("tiny", GRID))
    points = [run for name, run in runs.items() if name.startswith("grid/kd/electra/")]
    assert len(points) == 6
    tried = {(run.spec["alpha"], run.spec["training"]["learning_rate"]) for run in points}
    assert tried == {(a, r) for a in (0.0, 0.9) for r in (1e-3, 2e-3, 3e-3)}
    assert {run.seed for run in points} == {0}
    for seed in (0, 1):
        assert runs[f"kd/electra/seed-{seed}"].parents["settings"] == ["select/kd/electra"]
    assert runs["select/kd/electra"].parents["members"] == [run.name for run in points]


def test_what_has_no_teacher_is_searched_over_training_alone(root):
    runs = plan(Study.load("tiny", GRID))
    assert len(runs["select/base/roberta"].spec["points"]) == 3
    assert "select/transfer/electra-base" not in runs  # it has no dev set to choose on


def test_the_best_point_on_dev_is_taken_and_the_first_of_equals(root):
    store = Store(Study.load("tiny", {"grid.learning_rate": [1e-3, 2e-3, 3e-3]}))
    for i, dev in enumerate([0.2, 0.7, 0.7]):
        folder = store.folder(f"grid/base/electra/{i}")
        write_json(folder / "done.json", {"dev_MAP": dev})
    found = store.study.run("select/base/electra")
    assert found.facts["settings"] == {"learning_rate": 2e-3}
    assert found.facts["dev_MAP"] == 0.7


def test_a_fit_uses_the_settings_that_were_selected(root):
    store = Store(Study.load("tiny", {"grid.batch_size": [4, 8]}))
    for i, dev in enumerate([0.5, 0.4]):
        write_json(store.folder(f"grid/base/electra/{i}") / "done.json", {"dev_MAP": dev})
    run = store.study.run("base/electra/seed-1")
    plain = Study.load("tiny", {"fit.adapt.batch_size": 4}).run("base/electra/seed-1")
    assert run.identity != plain.identity
    assert run.scores("test").equals(plain.scores("test"))


def test_a_point_changes_the_objective_or_the_training():
    spec = {"loss": "kd", "alpha": 0.5, "training": {"steps": 3, "batch_size": 8}}
    found = settled(spec, {"alpha": 0.1, "batch_size": 4})
    assert found == {"loss": "kd", "alpha": 0.1, "training": {"steps": 3, "batch_size": 4}}
    assert json.loads(json.dumps(spec))["alpha"] == 0.5
