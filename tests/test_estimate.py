import json
from pathlib import Path

import pytest

from as2lib import Study
from as2lib.commands import print_plan
from as2lib.paths import local_folder
from as2lib.runs.estimate import KNOWN, encoder_weights, estimate, said, sizes
from as2lib.runs.store import Store

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", KNOWN)
def test_known_sizes_are_those_of_the_configuration_at_hand(name, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    if (folder := local_folder(name)) is None:
        pytest.skip(f"params/local.yaml maps {name} to no folder")
    config = json.loads((folder / "config.json").read_text())
    expected = (config["num_hidden_layers"], config["hidden_size"], config["intermediate_size"])
    assert sizes({"name": name}) == sizes({"config": config}) == expected


def test_four_layers_of_minilm_take_7_million_multiplications_a_token(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    store, width = Study.load("wikiqa").store, 384
    layer = 4 * width**2 + 2 * width * 1536  # four projections and the two dense layers of the feed-forward part
    assert encoder_weights(store, store.planned("mhs/3h1/seed-0")) == 4 * layer == 7_077_888


def test_an_encoder_of_no_known_size_is_refused(root):
    with pytest.raises(ValueError, match="example/encoder: its size is not known here; add it to KNOWN"):
        sizes({"name": "example/encoder"})


def test_a_fit_planned_in_epochs_takes_as_long_as_its_steps(root):
    budget = {"batch_size": 32, "learning_rate": 1e-3}
    named = ({"epochs": 2, "steps": None}, {"steps": 5})  # of 80 pairs
    seconds = [
        estimate(Study.load("tiny", {"fit.adapt": budget | length}).store, "base/electra/seed-0") for length in named
    ]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.02)  # the header is a line too
    assert seconds[1] > 0


def test_a_study_of_true_sizes_is_said_in_hours_of_a_named_gpu_and_another_in_minutes_of_cores(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    paper, sample = (Study.load(name).store for name in ("paper", "sample"))
    assert said(paper, 7200) == "2.0 hours of one H200 GPU"
    assert said(sample, 120) == "2 min of 1 processor core"


def test_what_a_fit_scores_on_the_way_is_part_of_its_time(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    layers, pairs = 24 * 1024 * (4 * 1024 + 2 * 4096), 3 * 200_000 * 64 + 801 * 539_210 + 535_116
    expected = layers * pairs * 64 / 1.5e14  # 800 evaluations on ASNQ's dev set cost ten times as much as the steps
    name = "transfer/roberta-large/seed-0"
    store = Study.load("paper", {"grid": {}}).store
    assert estimate(store, name) == pytest.approx(expected)


def test_a_plan_of_twice_as_many_seeds_is_looked_up_twice_as_often(root, monkeypatch, capsys):
    """Each run once, and not once for each of its siblings."""
    find, calls = Store.find, []
    monkeypatch.setattr(Store, "find", lambda self, *given, **named: calls.append(1) or find(self, *given, **named))

    def looked_up(seeds):
        calls.clear()
        study = Study.load("tiny", {"seeds": [*range(seeds)], "grid_seeds": [0]})
        print_plan(study.store)
        return len(calls) / len(study.plan)

    assert looked_up(16) < 1.2 * looked_up(8)
