"""A ranker in production: on a GPU, and in many threads, in the memory of one model."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

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


@pytest.mark.parametrize("precision", ["float32", BF16])
def test_many_threads_get_the_scores_of_one_whatever_a_caller_does_with_the_tokenizer(tmp_path, precision):
    draw = random.Random(0)
    ranker = Ranker.load(public_model(tmp_path / "model", labels=2, hidden_size=256), precision=precision)
    lists = [[" ".join(draw.choices(WORDS, k=draw.randint(1, 60))) for _ in range(20)] for _ in range(40)]
    expected = [ranker.rank("where is the red ?", texts) for texts in lists]
    ranker.encoder.tokenizer("where is the red ?", truncation=True, max_length=3, padding="max_length")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads change places as often as they can
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(partial(ranker.rank, "where is the red ?"), lists)) == expected
    finally:
        sys.setswitchinterval(interval)
