"""`score` against `CrossEncoder.predict` with its defaults: the WikiQA test pairs, MiniLM-L6, tokenization included."""

import numpy
import torch

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.kernels.packed import packing
from as2lib.precision import native_bf16
from as2lib.score import autocast, probability, score
from bench import wikiqa
from bench.timing import ROUNDS, compared, measure

TARGET = "≥ 5 at the native precision, ≥ 1.8 at equal precision with scores equal to 1e-5"


def main(limit: int | None = None, rounds: int = ROUNDS) -> dict[str, dict]:
    """limit: the first pairs only."""
    package, pairs = wikiqa.sentence_transformers(), wikiqa.pairs("test")
    pairs = pairs.select(range(limit or len(pairs)))
    texts = list(zip(pairs["question"], pairs["answer"], strict=True))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with wikiqa.classifier_folder() as folder:
        theirs = package.CrossEncoder(str(folder), device=device)
        model, encoder = models.load(folder).to(device), load_encoder(folder)

        def ours(precision: str, count: int) -> numpy.ndarray:
            wikiqa.forget_tokens()
            return score(model, pairs.select(range(count)), encoder, precision).score

        systems = {"slow": lambda count: probability(theirs.predict(texts[:count]))}
        for precision in ("float32", "bf16") if native_bf16() else ("float32",):
            systems[precision] = lambda count, precision=precision: ours(precision, count)
        scores = {name: system(min(64, len(pairs))) for name, system in systems.items()}  # a warm-up

        def keep(name: str) -> None:
            scores[name] = systems[name](len(pairs))

        found = measure({name: lambda name=name: keep(name) for name in systems}, rounds, warmup=False)
    gap, moved = (numpy.abs(scores["slow"] - scores.get(name, numpy.nan)).max() for name in ("float32", "bf16"))
    assert gap < 1e-5 or device != "cpu", f"scores differ by {gap}"
    settings = {"pairs": len(pairs), "against": f"sentence-transformers {package.__version__}, float32"}
    rows = {"equal precision": {**compared(found["slow"], found["float32"]), "precision": "float32", **settings}}
    rows["equal precision"]["largest difference"] = float(gap)
    if "bf16" in found:
        rows["native precision"] = {**compared(found["slow"], found["bf16"]), "precision": "bf16", **settings}
        rows["native precision"]["largest difference"] = float(moved)
        rows["a product alone, float32 against bf16"] = product(device, rounds)
    return rows


def product(device: str, rounds: int) -> dict[str, float]:
    """What bf16 can bring at most on this machine: a layer's product, weights packed, 2,048 tokens, forty times."""
    torch.manual_seed(0)
    layer, tokens = torch.nn.Linear(384, 1536).to(device), torch.randn(2048, 384, device=device)

    def multiply(precision: str) -> None:
        with torch.inference_mode(), autocast(device, precision), packing(layer, precision):
            for _ in range(40):
                layer(tokens)

    found = measure({precision: lambda p=precision: multiply(p) for precision in ("float32", "bf16")}, rounds)
    return {**compared(found["float32"], found["bf16"]), "precision": "float32, bf16"}
