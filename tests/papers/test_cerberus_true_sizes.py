import pytest
import torch

from as2lib.papers.cerberus import true_sizes
from as2lib.study.params import Latency

TOKENS = 128


def test_an_ensemble_costs_its_members():
    families = ("albert", "roberta", "electra")
    assert true_sizes.parameters("ensemble/bases") == sum(true_sizes.parameters(f"base/{f}") for f in families)
    assert true_sizes.operations("ensemble/students", TOKENS) == 3 * true_sizes.operations("base/electra", TOKENS)


def test_three_heads_of_one_layer_cost_next_to_nothing_where_each_computes_one_token(invented):
    table = true_sizes.counted(invented, "table5", TOKENS)
    assert 1 < table.loc["mhs/3h1", "operations ×"] < 1.01
    assert table.loc["mhs/3h1", "of every token ×"] == pytest.approx(14 / 12, abs=0.001)
    assert table.loc["ensemble/students", "operations ×"] == pytest.approx(3)


def test_the_rows_that_were_timed_are_shown_and_a_busy_turn_does_not_count():
    """Seconds of each row's turns, in batches of two pairs."""
    where = {"batch": 2, "tokens": TOKENS, "device": "cpu", "threads": 1}
    seconds = {"base/electra": [1.0, 1.0, 3.0], "mhs/3h1": [1.4, 1.5, 4.5]}
    times = {row: {"seconds": turns, **where} for row, turns in seconds.items()}
    table = true_sizes.times_table(times)
    assert [*table.index] == [*seconds]
    assert table.loc["mhs/3h1", ["ms a pair", "time ×"]].tolist() == [725, pytest.approx(1.45)]
    assert table["operations ×"].notna().all()


class Words(torch.nn.Embedding):
    def forward(self, input_ids):
        return super().forward(input_ids)


def test_rows_take_turns_and_leave_the_random_state(monkeypatch):
    built = []

    def build(row, device):
        built.append(row)
        return [Words(30000, 2)]

    monkeypatch.setattr(true_sizes, "build_members", build)
    state = torch.random.get_rng_state()
    settings = Latency(batch=2, tokens=8, repeats=2, rows=["base/albert", "mhs/3h1"])
    measured = true_sizes.measure(settings)
    assert built == ["base/albert", "mhs/3h1"] * 2
    assert [measured["mhs/3h1"][name] for name in ("batch", "tokens")] == [2, 8]
    assert torch.equal(torch.random.get_rng_state(), state)
