"""MHS B11 3H1 against its base model, and three of those against it: ELECTRA-base's true size, 128 tokens a pair."""

import torch
from transformers import AutoModelForSequenceClassification

from as2lib.papers.cerberus.true_sizes import build_members
from as2lib.score import autocast
from bench.measuring import DEVICE, PRECISIONS, ROUNDS, measure

TARGET = "MHS ≤ 0.95 of the ordinary base model; three base models ≥ 3.0 times MHS"
PAIRS, PAIRS_ON_GPU, TOKENS = 4, 128, 128
RATIOS = {
    "MHS / ordinary base": ("mhs", "ordinary"),
    "MHS / base, both saving": ("mhs", "base"),
    "three ordinary bases / MHS": ("three", "mhs"),
}


def main(pairs: int | None = None, rounds: int = ROUNDS) -> dict[str, dict]:
    """Rows for each precision that is native here.

    ordinary: transformers' own model, whose last layer computes every token; ours compute the first one there.
    """
    pairs = pairs or (PAIRS if DEVICE == "cpu" else PAIRS_ON_GPU)
    torch.manual_seed(0)
    (student,), (base,) = build_members("mhs/3h1", DEVICE), build_members("base/electra", DEVICE)
    ordinary = AutoModelForSequenceClassification.from_config(base.config).eval().to(DEVICE)
    ordinary.load_state_dict(base.state_dict())
    generator = torch.Generator().manual_seed(0)
    batch = {"input_ids": torch.randint(5, 30_000, (pairs, TOKENS), generator=generator).to(DEVICE)}

    def passes(model, times: int = 1) -> torch.Tensor:
        with torch.inference_mode():
            return [model(**batch).logits.float() for _ in range(times)][-1]

    gap = (passes(ordinary) - passes(base)).abs().max().item()
    assert gap < 1e-3, f"logits differ by {gap}"
    functions = {
        "ordinary": lambda: passes(ordinary),
        "base": lambda: passes(base),
        "mhs": lambda: passes(student),
        "three": lambda: passes(ordinary, 3),
    }
    rows = {}
    for precision in PRECISIONS:
        with autocast(DEVICE, precision):
            turns = measure(functions, rounds)
        settings = {"precision": precision, "pairs": pairs, "peak_gib": max(turn.gib for turn in turns.values())}
        for name, (over, under) in RATIOS.items():
            seconds = {part: turns[part].seconds for part in (over, under)}
            rows[f"{name}, {precision}"] = {**seconds, "ratio": seconds[over] / seconds[under], **settings}
    return rows
