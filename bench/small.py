"""What claims are measured on that need no data and no weights: a tiny model, and generated pairs."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy
import torch

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.models import cross_encoder

WORDS = [f"w{number}" for number in range(2_000)]
SHAPE = {
    "model_type": "bert",
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
CANDIDATES = 20


def small_model(texts: Iterable[str] = WORDS, max_length: int = 32) -> tuple[torch.nn.Module, PairEncoder]:
    """A new BERT of two layers that knows the words of some texts, and its encoder."""
    encoder = PairEncoder(word_tokenizer(texts, max_length), max_length)
    torch.manual_seed(0)
    return cross_encoder.build({"vocab_size": len(encoder.tokenizer), **SHAPE}).eval(), encoder


def rows(size: int) -> Iterator[dict[str, Any]]:
    """Pairs in questions of 20 candidates, one of each correct, words drawn evenly."""
    draw = numpy.random.default_rng(0)
    for row in range(size):
        number, place = divmod(row, CANDIDATES)
        words = draw.integers(0, len(WORDS), 5 + row % 11)
        yield {
            "question_id": f"q{number}",
            "question": f"what about {WORDS[number % len(WORDS)]} ?",
            "answer": " ".join(WORDS[word] for word in words),
            "label": int(place == 7),
        }


def write_pairs(path: Path, size: int) -> Path:
    """The rows as a TSV, written as they are drawn."""
    with path.open("w") as file:
        file.write("question_id\tquestion\tanswer\tlabel\n")
        for row in rows(size):
            file.write("\t".join(map(str, row.values())) + "\n")
    return path
