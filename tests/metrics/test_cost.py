from types import SimpleNamespace

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from as2lib.metrics import cost
from as2lib.metrics.cost import cascade_cost, forward_flops, latency, parameters, sequential_cost
from as2lib.metrics.pruning import dropped, survivors

# b pairs in a batch · n tokens · d hidden units · f feed-forward units · c = 2 classes
FIELDS = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2}
B, N, D, F, LAYERS, C = 2, 8, 16, 32, 3, 2
LAYER = B * N * (4 * D * D + 2 * D * F) + 2 * B * N * N * D  # four projections, two dense layers, two products
CLASSIFIER = B * (D * D + D * C)


def test_parameters_are_the_trainable_ones_and_shared_ones_count_once():
    shared = nn.Linear(3, 4)
    model = nn.Sequential(shared, nn.Linear(4, 3, bias=False), shared)
    assert parameters(model) == 3 * 4 + 4 + 4 * 3
    shared.requires_grad_(False)
    assert parameters(model) == 4 * 3


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_operations_of_an_encoder_are_those_worked_by_hand_whatever_its_attention(attention):
    config = AutoConfig.for_model("electra", vocab_size=50, embedding_size=D, max_position_embeddings=N, **FIELDS)
    config._attn_implementation = attention
    model = AutoModelForSequenceClassification.from_config(config).train()
    batch = {"input_ids": torch.arange(B * N).reshape(B, N), "attention_mask": torch.ones(B, N, dtype=torch.long)}
    assert forward_flops(model, batch) == LAYERS * LAYER + CLASSIFIER
    assert model.training


def test_latency_is_the_mean_of_the_passes_after_the_warm_up_in_eval_mode(monkeypatch):
    model, modes, clock = nn.Linear(6, 2).train(), [], iter([0, 9, 9, 10, 10, 12, 12, 15])
    model.register_forward_hook(lambda *_: modes.append(model.training))
    monkeypatch.setattr(cost, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    timing = latency([model], {"input": torch.zeros(4, 6)}, repeats=3)
    threads = torch.get_num_threads()
    assert timing == {"seconds": 2, "batch": 4, "tokens": 6, "device": "cpu", "threads": threads}
    assert modes == [False] * 4


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_exactly_what_nothing_dominates_is_on_the_front(points):
    costs, values = (numpy.array(column, float) for column in zip(*points, strict=True))
    front = cost.front(costs, values)
    for i, (c, v) in enumerate(points):
        dominated = any((a <= c and b >= v) and (a < c or b > v) for a, b in points)
        assert front[i] == (not dominated)
    numpy.testing.assert_array_equal(cost.front(costs, numpy.stack([values, -values]))[0], front)


EXITS = (4, 6, 8, 10, 12)


def test_128_candidates_at_0_3_by_the_exact_floors_and_without_dropping_the_monolithic_models_cost():
    assert survivors(5, 0.3, 128) == [128, 90, 63, 45, 32]
    assert (dropped(100, 0.29), dropped(2, 0.3)) == (29, 0)  # of the product as written
    assert cascade_cost(12, EXITS, 0.3, 128) * 128 == pytest.approx(81.0)  # the average batch over the layers
    assert sequential_cost(12, EXITS, 0.3, 128) == pytest.approx((4 * 128 + 6 * 90 + 8 * 63 + 10 * 45 + 12 * 32) / 1536)
    assert cascade_cost(12, EXITS, 0, 17) == 1.0
    each = [cascade_cost(12, EXITS, 0.3, m) * m for m in (128, 17)]
    assert cascade_cost(12, EXITS, 0.3, numpy.array([128, 17])) == pytest.approx(sum(each) / 145)
    assert [round(100 * cost(12, EXITS, 0.3)) - 100 for cost in (cascade_cost, sequential_cost)] == [-37, 54]  # Table 3
    assert sequential_cost(12, EXITS, 0) == pytest.approx(40 / 12)
