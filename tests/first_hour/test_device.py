"""Without a GPU: torch says that it has one, and models note where they are sent."""

import pytest
import torch
from torch import nn

from as2lib.ranker import Ranker
from tests.first_hour.hub_like import WORDS, public_model

QUESTION = "where is the red ?"
CANDIDATES = [f"the {word} is here" for word in WORDS]


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
def folder(tmp_path):
    return public_model(tmp_path / "model", labels=2)


@pytest.mark.parametrize(("capability", "precision"), [((7, 0), "float32"), ((7, 5), "float32"), ((8, 0), "bf16")])
def test_auto_is_bf16_on_a_gpu_that_computes_it_natively(folder, moves, monkeypatch, capability, precision):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    assert Ranker.load(folder, precision="auto").precision == precision


@pytest.mark.parametrize("device", [None, "cpu", "cuda:1"])
def test_a_ranker_takes_the_gpu_where_there_is_one_or_is_where_it_was_asked_to_be(folder, moves, device):
    ranker = Ranker.load(folder, device=device)
    assert {place.partition(":")[0] if device is None else place for place in moves} <= {device or "cuda"}
    assert device == "cpu" or moves
    assert len(ranker.rank(QUESTION, CANDIDATES)) == len(CANDIDATES) if device != "cuda:1" else moves
