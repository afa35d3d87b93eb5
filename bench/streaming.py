"""Memory of `score` over 20,000 and over 100,000 pairs, tokens on disk: it grows by the scores, not by the texts."""

import random
from pathlib import Path

import torch

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.data.pairs import load_unlabelled
from as2lib.models import cross_encoder
from as2lib.paths import find_root
from as2lib.score import score
from bench.memory import held, watched

TARGET = "for a million pairs below 100 MiB beyond the model and a batch"
SIZES, MILLION, MAX_LENGTH = (20_000, 100_000), 1_000_000, 32
SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}


def main(sizes: tuple[int, int] = SIZES) -> dict[str, float | str]:
    words = [f"w{number}" for number in range(2_000)]
    encoder = PairEncoder(word_tokenizer(words, MAX_LENGTH), MAX_LENGTH)
    torch.manual_seed(0)
    model = cross_encoder.build({"model_type": "bert", "vocab_size": len(encoder.tokenizer), **SHAPE})
    small, large = (_grown(model, encoder, generate(find_root() / f"{size}.tsv", size, words)) for size in sizes)
    a_pair = max(0.0, large - small) / (sizes[1] - sizes[0])
    return {
        **{f"MiB, {size:,} pairs": grown / 1024 for size, grown in zip(sizes, (small, large), strict=True)},
        "bytes a pair": 1024 * a_pair,
        "MiB, projected to a million": (large + a_pair * (MILLION - sizes[1])) / 1024,
        "precision": "float32",
    }


def generate(path: Path, size: int, words: list[str]) -> Path:
    generator = random.Random(0)
    with path.open("w") as file:
        file.write("question_id\tquestion\tanswer\n")
        for row in range(size):
            answer = " ".join(generator.choices(words, k=generator.randint(5, 25)))
            file.write(f"q{row // 20}\twhat about {words[row // 20 % len(words)]} ?\t{answer}\n")
    return path


def _grown(model, encoder: PairEncoder, path: Path) -> int:
    """KiB of peak memory over what was held before, of the second time: the first one warms the allocator up."""
    pairs = load_unlabelled(path)
    score(model, pairs, encoder)
    before = held()
    return round(watched(lambda: score(model, pairs, encoder)).gib * 2**20) - before
