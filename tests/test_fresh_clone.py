"""The published study on a machine that has the repository alone: no data, no weights, no hub."""

import json
import shutil

import datasets
import matplotlib
import pytest

from as2lib import Study
from as2lib.metrics import cost
from as2lib.papers import notebooks
from as2lib.runs import make
from as2lib.runs.store import Store
from tests.invented import ROOT, executed, without_drawing

matplotlib.use("agg")
FEWER = {"significance.resamples": 99, "seeds": [0], "longer.seeds": [0], "cosinet.seeds": [0]}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "params", tmp_path / "params", ignore=shutil.ignore_patterns("local.yaml"))
    shutil.copytree(ROOT / "reports" / "wikiqa" / "runs", tmp_path / "reports" / "wikiqa" / "runs")
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))

    def no_hub(name, *_, **__):
        raise ConnectionError(f"no hub: {name}")

    monkeypatch.setattr(datasets, "load_dataset", no_hub)
    monkeypatch.setattr("as2lib.data.sources.hub_answers", lambda: False)
    monkeypatch.setattr(make, "make_all", lambda store, names, **_: pytest.fail(f"would train {names}"))
    monkeypatch.setattr(cost, "latency", lambda *_, **__: pytest.fail("would measure anew"))
    monkeypatch.setattr("as2lib.papers.frontier.times.measure", lambda asked: dict.fromkeys(asked["systems"], 1.0))
    without_drawing(monkeypatch)
    return tmp_path


def test_every_notebook_of_the_published_study_is_made_from_its_scores_alone(clone, monkeypatch, capsys):
    whole, find, read = Study.load("wikiqa"), Store.find, set()
    assert not whole.store.missing(list(whole.plan))
    study = Study.load("wikiqa", FEWER)
    monkeypatch.setattr(Study, "variant", property(lambda self: self.study))
    monkeypatch.setattr(Study, "load", classmethod(lambda cls, *_: study))
    monkeypatch.setattr(Store, "find", lambda *given: read.add(given[1]) or find(*given))
    for planned in notebooks(study):
        read.clear()
        executed(planned.name, monkeypatch)
        assert read <= set(planned.runs), f"{planned.name} reads {sorted(read - set(planned.runs))}"
    metrics = {path.stem: json.loads(path.read_text()) for path in (clone / "reports/wikiqa/metrics").glob("*.json")}
    assert metrics["01"]["target test questions"] == 243  # the scores hold labels of every question
    assert metrics["01"]["random MAP"] == pytest.approx(39.919, abs=0.001)  # exact, over these labels
    assert not (clone / "work" / "runs").exists()
