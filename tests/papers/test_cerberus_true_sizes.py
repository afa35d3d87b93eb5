import pytest
import torch

from as2lib.papers.cerberus import true_sizes
from as2lib.study.params import Latency

TOKENS = 128


def test_three_heads_of_one_layer_cost_next_to_nothing_and_an_ensemble_its_members(invented):
    table = true_sizes.counted(invented, "table5", TOKENS)
    assert 1 < table.loc["mhs/3h1", "operations ×"] < 1.01
    assert table.loc["mhs/3h1", "of every token ×"] == pytest.approx(14 / 12, abs=0.001)
    assert table.loc["ensemble/students", "operations ×"] == pytest.approx(3)
    families = ("albert", "roberta", "electra")
    assert true_sizes.parameters("ensemble/bases") == sum(true_sizes.parameters(f"base/{f}") for f in families)


def test_the_rows_that_were_timed_are_shown_and_a_busy_turn_does_not_count():
    """Seconds of each row's turns, in batches of two pairs."""
    where = {"batch": 2, "tokens": TOKENS, "device": "cpu", "threads": 1}
    seconds = {"base/electra": [1.0, 1.0, 3.0], "mhs/3h1": [1.4, 1.5, 4.5]}
    times = {row: {"seconds": turns, **where} for row, turns in seconds.items()}
    table = true_sizes.times_table(times)
    assert [*table.index] == [*seconds]
    assert table.loc["mhs/3h1", ["ms a pair", "time ×"]].tolist() == [725, pytest.approx(1.45)]
    assert table["operations ×"].notna().all()


def test_rows_take_turns_and_leave_the_random_state(monkeypatch):
    built = []
    monkeypatch.setattr(true_sizes, "build_members", lambda row, device: built.append(row) or [torch.nn.Identity()])
    monkeypatch.setattr(true_sizes.cost, "latency", lambda models, inputs, repeats: {"seconds": 1.0, "tokens": 8})
    state = torch.random.get_rng_state()
    settings = Latency(batch=2, tokens=8, repeats=2, rows=["base/albert", "mhs/3h1"])
    measured = true_sizes.measure(settings)
    assert built == ["base/albert", "mhs/3h1"] * 2
    assert measured["mhs/3h1"] == {"seconds": [1.0, 1.0], "tokens": 8}
    assert torch.equal(torch.random.get_rng_state(), state)
