"""`Ranker.predict` against `CrossEncoder.predict` at the same precision: WikiQA's test pairs, MiniLM-L6, from texts."""

from functools import partial

import numpy
import torch

from as2lib.ranker import Ranker
from as2lib.score import probability
from bench import wikiqa
from bench.measuring import DEVICE, PRECISIONS, compared, measure

TARGET = "faster at equal precision, with scores equal to 1e-5"
PAIRS, ROUNDS = 300, 3  # without --full


def main(full: bool = False, pairs: int = PAIRS, rounds: int = ROUNDS) -> dict[str, dict]:
    """full: all pairs of the test set; else so many of them."""
    package, table = wikiqa.sentence_transformers(), wikiqa.pairs("test")
    count = len(table) if full else min(pairs, len(table))
    texts = list(zip(table["question"][:count], table["answer"][:count], strict=True))
    with wikiqa.classifier_folder() as folder:
        systems = {}
        for precision in PRECISIONS:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            theirs = package.CrossEncoder(str(folder), device=DEVICE, model_kwargs={"dtype": dtype})
            systems[f"theirs, {precision}"] = lambda texts, theirs=theirs: probability(theirs.predict(texts))
            systems[precision] = Ranker.load(folder, device=DEVICE, precision=precision).predict
        scores = {name: system(texts[:64]) for name, system in systems.items()}  # a warm-up

        def keep(name: str) -> None:
            scores[name] = systems[name](texts)

        turns = measure({name: partial(keep, name) for name in systems}, rounds, warmup=False)
    rows = {}
    for precision in PRECISIONS:
        gap = float(numpy.abs(scores["theirs, float32"] - scores[precision]).max())
        assert gap < 1e-5 or (precision, DEVICE) != ("float32", "cpu"), f"scores differ by {gap}"
        row = compared(turns[f"theirs, {precision}"], turns[precision])
        row |= {"precision": precision, "pairs": count, "largest difference": gap}
        row["against"] = f"sentence-transformers {package.__version__}, {precision}"
        rows[precision if full else f"{precision}, {count} pairs"] = row
    return rows
