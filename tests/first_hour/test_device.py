"""A ranker takes the GPU where there is one, the device that is asked for elsewhere, and bf16 only where that has it.

No GPU is needed: torch says that it has one, and models note where they are sent.
"""

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


def devices(moves):
    return {place.partition(":")[0] for place in moves}


def test_a_ranker_takes_the_gpu_where_there_is_one(folder, moves):
    ranker = Ranker.load(folder)
    assert devices(moves) == {"cuda"}
    assert len(ranker.rank(QUESTION, CANDIDATES)) == len(CANDIDATES)


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_a_ranker_is_where_it_was_asked_to_be(folder, moves, device):
    Ranker.load(folder, device=device)
    assert set(moves) <= {device}
    assert device == "cpu" or moves


@pytest.mark.parametrize(("capability", "precision"), [((7, 0), "float32"), ((7, 5), "float32"), ((8, 0), "bf16")])
def test_auto_is_bf16_on_a_gpu_that_computes_it_natively(folder, moves, monkeypatch, capability, precision):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
    assert Ranker.load(folder, precision="auto").precision == precision


def test_a_gpu_that_is_not_there_is_named_in_one_line(folder):
    with pytest.raises(ValueError, match=r"device: expected .*cpu.*, got 'cuda:7'") as error:
        Ranker.load(folder, device="cuda:7")
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_scores_of_a_gpu_are_those_of_the_processor(folder):
    there, here = (Ranker.load(folder, device=device).rank(QUESTION, CANDIDATES) for device in (None, "cpu"))
    assert [one.score for one in there] == pytest.approx([one.score for one in here], abs=1e-5)
