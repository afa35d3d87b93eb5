"""What claims are measured on: a tiny model, generated pairs, and a fit as a run of a study has it."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import torch
from datasets import Dataset

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.models import cross_encoder
from as2lib.runs.fit.trainer import ranking_trainer

SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
WORDS = [f"w{number}" for number in range(2_000)]


def small_model(
    texts: Iterable[str] = WORDS, max_length: int = 32, shape: dict[str, int] = SHAPE
) -> tuple[torch.nn.Module, PairEncoder]:
    """A new BERT, tiny unless `shape` says otherwise, that knows the words of some texts; with its encoder."""
    encoder = PairEncoder(word_tokenizer(texts, max_length), max_length)
    torch.manual_seed(0)
    return cross_encoder.build({"model_type": "bert", "vocab_size": len(encoder.tokenizer), **shape}).eval(), encoder


def generate(path: Path, size: int) -> Path:
    """Pairs in questions of 20, one candidate of each correct, words drawn evenly; written as they are drawn."""
    draw = numpy.random.default_rng(0)
    with path.open("w") as file:
        file.write("question_id\tquestion\tanswer\tlabel\n")
        for first in range(0, size, 20):
            for place, words in enumerate(draw.integers(0, len(WORDS), (min(20, size - first), 15))):
                answer = " ".join(WORDS[word] for word in words[: 5 + (first + place) % 11])
                file.write(f"q{first}\twhat about {WORDS[first // 20 % 2_000]} ?\t{answer}\t{int(place == 7)}\n")
    return path


def fit(
    model: torch.nn.Module,
    encoder: PairEncoder,
    pairs: Dataset,
    spec: dict[str, Any],
    precision: str = "float32",
    seed: int = 0,
    logits: Sequence[numpy.ndarray] = (),
) -> None:
    """Fit a model in place.  spec: of a run.  logits: of each teacher over the pairs."""
    run = SimpleNamespace(spec=spec, data={}, seed=seed)
    job = SimpleNamespace(run=run, precision=precision, kernels=True)
    with tempfile.TemporaryDirectory() as folder:
        ranking_trainer(job, model, encoder, pairs, list(logits), Path(folder), progress=False).train()
