"""`score` (sorted by length, padded per batch) against batches in the given order, padded to the maximum length."""

import numpy
import torch

from as2lib.data.pairs import load_pairs
from as2lib.score import on_threads, probability, score
from bench.making import small_model
from bench.timing import ratio

SHAPE = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 256}
MAX_LENGTH = 48


def main() -> dict[str, float | str]:
    pairs = load_pairs("sample", "test")
    model, encoder = small_model([*pairs["question"], *pairs["answer"]], MAX_LENGTH, SHAPE)

    @torch.inference_mode()
    def plain() -> numpy.ndarray:
        found = []
        for start in range(0, len(pairs), 32):
            rows = pairs[start : start + 32]
            settings = {"padding": "max_length", "truncation": True, "max_length": MAX_LENGTH, "return_tensors": "pt"}
            found.append(model(**encoder.tokenizer(rows["question"], rows["answer"], **settings)).logits.numpy())
        return probability(numpy.concatenate(found))

    with on_threads(2):
        gap = numpy.abs(plain() - score(model, pairs, encoder).score).max()
        assert gap < 1e-5, f"scores differ by {gap}"
        found = ratio(plain, lambda: score(model, pairs, encoder))
        return {**found, "precision": "float32", "largest difference": float(gap)}
