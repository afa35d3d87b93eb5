"""Each claim of speed runs in a small form; what was not run keeps its rows; the texts quote what was measured."""

import json
import re
from importlib import import_module
from pathlib import Path

import numpy
import pytest

from bench import __main__ as command
from bench import measuring, small

ROOT = Path(__file__).parents[1]
SHAPE = {
    "model_type": "roberta",
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 140,
}
TINY = {  # claims that need no data → what makes them small, and a row
    "cascade": ({"candidates": 6, "rounds": 1, "shape": SHAPE, "exits": (2, 4)}, "alpha 0.5, ordinary"),
    "metrics": ({"pairs": 2_000, "questions": 20, "rounds": 1}, "metrics"),
    "streaming": ({"few": 40, "many": 80}, "streaming"),
    "memory": ({"calls": 16, "threads": 2}, "memory"),
}


@pytest.fixture(autouse=True)
def own_root(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))


@pytest.fixture
def pairs(monkeypatch):
    """Stands in for WikiQA and its encoder: generated pairs and a tiny model."""
    from contextlib import contextmanager

    from as2lib.data.pairs import load_pairs
    from bench import wikiqa

    @contextmanager
    def classifier_folder():
        model, encoder = small.small_model()
        folder = Path(command.find_root()) / "model"
        model.save_pretrained(folder)
        encoder.save(folder)
        yield folder

    monkeypatch.setattr(wikiqa, "pairs", lambda split: load_pairs(list(small.rows(80)), questions="answered"))
    monkeypatch.setattr(wikiqa, "classifier_folder", classifier_folder)


@pytest.mark.parametrize("name", TINY)
def test_a_claim_runs_in_a_small_form(name):
    settings, row = TINY[name]
    if name == "metrics":
        pytest.importorskip("pytrec_eval")
    rows = import_module(f"bench.{name}").main(**settings)
    row = rows if row == name else rows[row]
    assert all(isinstance(value, int | float | str) for value in row.values())


def test_steps_of_a_fit_are_measured_against_the_trainers(pairs):
    pytest.importorskip("accelerate")  # which transformers' Trainer wants, and nothing here
    from bench import finetuning

    row = finetuning.main(steps=2, rounds=1)["float32"]
    assert row["ratio"] == row["slow"] / row["fast"]


def test_predictions_of_both_libraries_are_the_same(pairs):
    pytest.importorskip("sentence_transformers")
    from bench import predicting

    row = predicting.main(pairs=40, rounds=1)["float32, 40 pairs"]
    assert row["largest difference"] < 1e-5


def test_a_claim_or_a_row_that_was_not_run_this_time_keeps_its_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command.write({"a": {"state": "run", "device": "cpu, old", "rows": {"full": {"ratio": 2}, "short": {"ratio": 3}}}})
    command.write({"a": {"state": "not run"}, "b": {"state": "failed"}})
    path = command.write({"a": {"state": "run", "device": "cpu, new", "rows": {"short": {"ratio": 4}}}})
    claims = json.loads(path.read_text())
    assert claims["a"]["rows"] == {"full": {"ratio": 2, "device": "cpu, old"}, "short": {"ratio": 4}}
    assert {name: claim["state"] for name, claim in claims.items()} == {"a": "run", "b": "failed"}


@pytest.mark.parametrize("page", ["README.md", "bench/README.md"])
def test_a_page_quotes_what_was_measured(page):
    """A quote is a table row with a cell `module`: row, and behind it the number and its key in that row."""
    claims = json.loads((ROOT / "reports" / "bench.json").read_text(encoding="utf-8"))
    text = (ROOT / page).read_text(encoding="utf-8")
    quotes = re.findall(r"\| `(\w+)`: (.+?) \| ([\d.]+) (.+?) \|", text)
    assert quotes
    for module, row, number, key in quotes:
        measured = claims[module]["rows"][row][UNITS.get(key, key)]
        decimals = len(number.partition(".")[2])
        assert round(measured, decimals) == float(number), (module, row)


UNITS = {"×": "ratio", "%": "saved %", "MiB": "MiB, projected to a million", "MiB more": "MiB, second half"}
UNITS |= {"s": "seconds", "s cold": "cold"}


def test_the_peak_of_a_function_is_seen_after_it_has_freed_it():
    watched = measuring.watched(lambda: numpy.ones(30_000_000).sum())  # 229 MiB
    assert watched.result == 30_000_000
    assert watched.gib - measuring.held() / 2**20 > 0.1
