"""MHS B11 3H1 against its base model, and three of those against it: ELECTRA-base's true size, 128 tokens a pair."""

import torch

from as2lib.kernels.first_token import reading_first_token
from as2lib.papers.cerberus.true_sizes import build_members
from as2lib.precision import native_bf16
from as2lib.score import autocast
from bench.timing import ROUNDS, measure

TARGET = "MHS ≤ 0.95 of the ordinary base model; three ELECTRA-base ≥ 3.0 times MHS"
PAIRS, PAIRS_ON_GPU, TOKENS = 4, 128, 128


def main(pairs: int | None = None, rounds: int = ROUNDS) -> dict[str, dict]:
    """Rows for each precision that is native here; models are called as a user calls them, unless a row says not."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pairs = pairs or (PAIRS if device == "cpu" else PAIRS_ON_GPU)
    torch.manual_seed(0)
    (student,), (base, *others) = build_members("mhs/3h1", device), build_members("ensemble/distilled", device)
    generator = torch.Generator().manual_seed(0)
    batch = {"input_ids": torch.randint(5, 30_000, (pairs, TOKENS), generator=generator).to(device)}

    def ordinary(*models) -> torch.Tensor:
        with torch.inference_mode():
            return torch.stack([model(**batch).logits for model in models])

    def saving(model) -> torch.Tensor:
        with reading_first_token(model):
            return ordinary(model)

    gap = (ordinary(base) - saving(base)).abs().max().item()
    assert gap < (1e-5 if device == "cpu" else 1e-3), f"logits differ by {gap}"
    functions = {
        "base": lambda: ordinary(base),
        "base, saving": lambda: saving(base),
        "mhs": lambda: ordinary(student),
        "three": lambda: ordinary(base, *others),
    }
    rows = {}
    for precision in ("float32", "bf16") if native_bf16() else ("float32",):
        with autocast(device, precision):
            found = measure(functions, rounds)

        def row(over: str, under: str, found=found, precision=precision) -> dict:
            times = {name: found[name].seconds for name in (over, under)}
            settings = {"precision": precision, "pairs": pairs, "peak_gib": max(timed.gib for timed in found.values())}
            return {**times, "ratio": found[over].seconds / found[under].seconds, **settings}

        rows |= {
            f"MHS / ordinary base, {precision}": row("mhs", "base"),
            f"MHS / base, both saving, {precision}": row("mhs", "base, saving"),
            f"three ELECTRA-base / MHS, {precision}": row("three", "mhs"),
        }
    return rows
