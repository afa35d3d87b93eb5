"""What a row's and a run's specification say of it, and the keys that published runs are found by."""

import json
from pathlib import Path

import pytest

from as2lib import Study
from as2lib.study.run import Row
from as2lib.study.study import params_file

KEYS = json.loads(Path(__file__).with_name("keys.json").read_text())  # study → run → key, a dozen of every kind


@pytest.mark.parametrize("loss", ["ce", "ranknet", "margin_mse", "listwise_kl", "my.own:loss"])
def test_what_learns_lists_or_margins_only_orders_candidates(loss):
    spec = {"loss": loss} | ({"unit": "question"} if loss == "listwise_kl" else {})
    orders_only = Row("mine", "mine", "", "fit", spec, {}).orders_only
    assert orders_only is (loss in ("ranknet", "margin_mse", "listwise_kl"))


@pytest.mark.parametrize("name", KEYS)
def test_published_runs_keep_their_keys(name, monkeypatch):
    monkeypatch.setattr("as2lib.hub.commit", lambda name, revision: None)
    if not params_file(f"{name}.yaml").exists():
        pytest.skip("merged into another study, which has its keys")
    study = Study.load(name)
    assert {run: study.store.identity(run)[:24] for run in KEYS[name]} == KEYS[name]
