"""One step of fine-tuning MiniLM-L6 on a processor: as torch and transformers do it, and with the kernels of fits."""

from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import torch
from torch import nn

from as2lib import models
from as2lib.kernels import training
from as2lib.kernels.first_token import reading_first_token
from as2lib.kernels.training import training_kernels
from as2lib.score import autocast
from bench import NotRun, wikiqa
from bench.timing import PRECISIONS, compared, measure

TARGET = "at most 0.55 of the time (a ratio of 1.8) with dropout 0.1"
SHAPE, SHAPES = (32, 48), [(32, 48), (12, 128), (6, 256), (3, 512)]  # pairs and tokens of a batch
ROUNDS = 11


def main(rounds: int = ROUNDS, full: bool = False) -> dict[str, dict]:
    """full: also which attention is faster without dropout, by tokens."""
    if torch.cuda.is_available():
        raise NotRun("it is about processors")
    rows = {}
    with wikiqa.classifier_folder() as folder:
        for precision in PRECISIONS:
            step = Step(folder, precision)
            for rate in (0.1, 0.0):
                rows[f"dropout {rate:g}, {precision}"] = step.ratio(SHAPE, rate, ordinary, fast, rounds)
            for shape in SHAPES if full else []:
                rows[f"plain attention, {shape[1]} tokens, {precision}"] = step.ratio(shape, 0.0, fused, plain, rounds)
    return rows


class Step:
    """Forward, backward, clipping and AdamW of one random batch without padding."""

    def __init__(self, folder, precision: str):
        self.model, self.precision = models.load(folder).train(), precision
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)

    def ratio(self, shape: tuple[int, int], rate: float, slow, fast, rounds: int) -> dict[str, float]:
        found = measure({"slow": lambda: self(shape, rate, slow), "fast": lambda: self(shape, rate, fast)}, rounds)
        return {**compared(**found), "precision": self.precision}

    def __call__(self, shape: tuple[int, int], rate: float, how) -> None:
        ids = torch.randint(5, 30_000, shape, generator=torch.Generator().manual_seed(0))
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = rate
        with reading_first_token(self.model), how(self.model):
            with autocast("cpu", self.precision):
                logits = self.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
            nn.functional.cross_entropy(logits.float(), ids[:, 0] % 2).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()


@contextmanager
def deterministic(model: nn.Module, fill: bool):
    """What a fit asks torch for; fill: torch's default then, a write of every new tensor."""
    before = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = fill
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = before


ordinary, fused = partial(deterministic, fill=True), partial(deterministic, fill=False)


@contextmanager
def fast(model: nn.Module):
    with fused(model), training_kernels(model, seed=0):
        yield


@contextmanager
def plain(model: nn.Module):
    with fast(model), patch.dict(training.PLAIN_BELOW, dict.fromkeys(training.PLAIN_BELOW, 10**9)):
        yield
