"""A ranker in production: on a GPU (torch says that it has one), and in many threads, in the memory of one model."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from as2lib.ranker import Ranker
from tests.first_hour.hub_like import WORDS, public_model
from tests.marks import BF16


@pytest.fixture
def moves(monkeypatch):
    """The devices that models are sent to, on a machine with two GPUs that are none."""
    places = []

    def to(self, *arguments, **options):
        places.extend(str(one) for one in [*arguments, *options.values()] if isinstance(one, str | torch.device))
        return self

    monkeypatch.setattr(nn.Module, "to", to)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
    return places


@pytest.fixture
def model(tmp_path):
    return public_model(tmp_path / "model", labels=2)


@pytest.mark.parametrize(("capability", "precision"), [((7, 0), "float32"), ((7, 5), "float32"), ((8, 0), "bf16")])
def test_auto_is_bf16_on_a_gpu_that_computes_it_natively(model, moves, monkeypatch, capability, precision):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    assert Ranker.load(model, precision="auto").precision == precision


@pytest.mark.parametrize("device", [None, "cpu", "cuda:1"])
def test_a_ranker_takes_the_gpu_where_there_is_one_or_is_where_it_was_asked_to_be(model, moves, device):
    ranker = Ranker.load(model, device=device)
    assert {place.partition(":")[0] if device is None else place for place in moves} <= {device or "cuda"}
    assert device == "cpu" or moves
    assert len(ranker.rank("where is the red ?", WORDS)) == len(WORDS) if device != "cuda:1" else moves


THREADS = 8


def requests(count, longest=60, candidates=20):
    """Questions with candidates of many lengths."""
    generator = random.Random(0)
    words = [f"the {word}" for word in WORDS]
    for number in range(count):
        lists = [" ".join(generator.choices(words, k=generator.randint(1, longest))) for _ in range(candidates)]
        yield f"where is the {WORDS[number % len(WORDS)]} ?", lists


def scores(ranker, request):
    return [(one.position, one.score) for one in ranker.rank(*request)]


def in_threads(ranker, work):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads change places as often as they can
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda request: scores(ranker, request), work))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("precision", ["float32", BF16])
def test_many_threads_get_the_scores_of_one_whatever_a_caller_does_with_the_tokenizer(tmp_path, precision):
    ranker = Ranker.load(public_model(tmp_path / "model", labels=2, hidden_size=256), precision=precision)
    work = list(requests(60))
    expected = [scores(ranker, request) for request in work]
    ranker.encoder.tokenizer("where is the red ?", truncation=True, max_length=3, padding="max_length")
    assert in_threads(ranker, work) == expected
