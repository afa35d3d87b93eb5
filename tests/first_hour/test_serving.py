"""A ranker in production: on a GPU, and in many threads, in the memory of one model."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from as2lib.precision import native_bf16
from as2lib.ranker import Ranker
from tests.first_hour.hub_like import WORDS, public_model
from tests.marks import BF16

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.mark.parametrize("device", ["cpu", pytest.param(None, marks=needs_gpu)])
def test_a_ranker_takes_the_gpu_where_there_is_one_and_computes_in_what_is_fastest_there(tmp_path, device):
    ranker = Ranker.load(public_model(tmp_path / "model", labels=2), device=device, precision="auto")
    assert {weights.device.type for weights in ranker.model.parameters()} == {device or "cuda"}
    assert ranker.precision == ("bf16" if native_bf16(ranker.device) else "float32")
    assert len(ranker.rank("where is the red ?", WORDS)) == len(WORDS)
    with pytest.raises(ValueError, match="cuda:99"):
        Ranker.load(tmp_path / "model", device="cuda:99")


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
    work = list(requests(40))
    expected = [scores(ranker, request) for request in work]
    ranker.encoder.tokenizer("where is the red ?", truncation=True, max_length=3, padding="max_length")
    assert in_threads(ranker, work) == expected
