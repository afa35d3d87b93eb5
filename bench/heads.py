"""MHS B11 3H1 against its base model, and three of those against it: ELECTRA-base's true size, 128 tokens a pair."""

import torch

from as2lib.kernels.first_token import reading_first_token
from as2lib.papers.cerberus.true_sizes import build_members
from as2lib.score import autocast
from bench.timing import DEVICE, PRECISIONS, ROUNDS, measure

TARGET = "MHS ≤ 0.95 of the ordinary base model; three ELECTRA-base ≥ 3.0 times MHS"
PAIRS, PAIRS_ON_GPU, TOKENS = 4, 128, 128
RATIOS = {
    "MHS / ordinary base": ("mhs", "base"),
    "MHS / base, both saving": ("mhs", "base, saving"),
    "three ELECTRA-base / MHS": ("three", "mhs"),
}


def main(pairs: int | None = None, rounds: int = ROUNDS) -> dict[str, dict]:
    """Rows for each precision that is native here; models are called as a user calls them, unless a row says not."""
    pairs = pairs or (PAIRS if DEVICE == "cpu" else PAIRS_ON_GPU)
    torch.manual_seed(0)
    (student,), (base, *others) = build_members("mhs/3h1", DEVICE), build_members("ensemble/distilled", DEVICE)
    generator = torch.Generator().manual_seed(0)
    batch = {"input_ids": torch.randint(5, 30_000, (pairs, TOKENS), generator=generator).to(DEVICE)}

    def ordinary(*models) -> torch.Tensor:
        with torch.inference_mode():
            return torch.stack([model(**batch).logits for model in models])

    def saving(model) -> torch.Tensor:
        with reading_first_token(model):
            return ordinary(model)

    gap = (ordinary(base) - saving(base)).abs().max().item()
    assert gap < (1e-5 if DEVICE == "cpu" else 1e-3), f"logits differ by {gap}"
    functions = {
        "base": lambda: ordinary(base),
        "base, saving": lambda: saving(base),
        "mhs": lambda: ordinary(student),
        "three": lambda: ordinary(base, *others),
    }
    rows = {}
    for precision in PRECISIONS:
        with autocast(DEVICE, precision):
            found = measure(functions, rounds)
        settings = {"precision": precision, "pairs": pairs, "peak_gib": max(timed.gib for timed in found.values())}
        for name, (over, under) in RATIOS.items():
            times = {part: found[part].seconds for part in (over, under)}
            rows[f"{name}, {precision}"] = {**times, "ratio": times[over] / times[under], **settings}
    return rows
