"""`score` against `CrossEncoder.predict` with its defaults: the WikiQA test pairs, MiniLM-L6, tokenization included."""

from functools import partial

import numpy
import torch

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.kernels.packed import packing
from as2lib.score import autocast, probability, score
from bench import wikiqa
from bench.timing import DEVICE, PRECISIONS, ROUNDS, compared, measure

TARGET = "≥ 5 at the native precision, ≥ 1.8 at equal precision with scores equal to 1e-5"


def main(limit: int | None = None, rounds: int = ROUNDS) -> dict[str, dict]:
    """limit: the first pairs only."""
    package, pairs = wikiqa.sentence_transformers(), wikiqa.pairs("test")
    pairs = pairs.select(range(limit or len(pairs)))
    texts = list(zip(pairs["question"], pairs["answer"], strict=True))
    with wikiqa.classifier_folder() as folder:
        theirs = package.CrossEncoder(str(folder), device=DEVICE)
        model, encoder = models.load(folder).to(DEVICE), load_encoder(folder)

        def ours(precision: str, count: int) -> numpy.ndarray:
            wikiqa.forget_tokens()
            return score(model, pairs.select(range(count)), encoder, precision).score

        systems = {"slow": lambda count: probability(theirs.predict(texts[:count]))}
        systems |= {precision: partial(ours, precision) for precision in PRECISIONS}
        scores = {name: system(min(64, len(pairs))) for name, system in systems.items()}  # a warm-up

        def keep(name: str) -> None:
            scores[name] = systems[name](len(pairs))

        found = measure({name: partial(keep, name) for name in systems}, rounds, warmup=False)
    settings = {"pairs": len(pairs), "against": f"sentence-transformers {package.__version__}, float32"}
    rows = {}
    for precision, row in wikiqa.ROWS.items():
        gap = float(numpy.abs(scores["slow"] - scores[precision]).max())
        assert gap < 1e-5 or (precision, DEVICE) != ("float32", "cpu"), f"scores differ by {gap}"
        measured = {**compared(found["slow"], found[precision]), "precision": precision, **settings}
        rows[row] = {**measured, "largest difference": gap}
    if "bf16" in PRECISIONS:
        rows["a product alone, float32 against bf16"] = product(rounds)
    return rows


def product(rounds: int) -> dict[str, float]:
    """What bf16 can bring at most on this machine: a layer's product, weights packed, 2,048 tokens, forty times."""
    torch.manual_seed(0)
    layer, tokens = torch.nn.Linear(384, 1536).to(DEVICE), torch.randn(2048, 384, device=DEVICE)

    def multiply(precision: str) -> None:
        with torch.inference_mode(), autocast(DEVICE, precision), packing(layer, precision):
            for _ in range(40):
                layer(tokens)

    found = measure({precision: partial(multiply, precision) for precision in ("float32", "bf16")}, rounds)
    return {**compared(found["float32"], found["bf16"]), "precision": "float32, bf16"}
