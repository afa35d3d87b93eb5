"""Any model over any pair set, fast: sorted by length, padded per batch, with every kernel; knows no run, no metric."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch
from torch import nn
from tqdm import tqdm

from as2lib.data.batches import by_length
from as2lib.data.encode import rows_of
from as2lib.kernels import replacing
from as2lib.kernels.cosinet import reading_whole_batches
from as2lib.kernels.first_token import reading_first_token
from as2lib.kernels.packed import packing
from as2lib.metrics.pruning import Ratios

if TYPE_CHECKING:
    from datasets import Dataset

# m pairs in the set · k heads or exits · c = 2 classes
# Tokens of a scoring batch, padding included. With 8192 instead of 2048 a processor takes 1.5 times as long, probably
# for its caches and for the pages of large tensors, given back and faulted in again (see bench/README.md).
BATCH_TOKENS = {"cpu": 2048, "gpu": 32_768}
OUTPUTS = ("logits", "head_logits", "exit_logits")  # what a model may return


class Scores(NamedTuple):
    """One row a pair, in the caller's order.

    score: (m,) float64, P(correct).  logits: (m, c) float32.  head_logits, exit_logits: (m, k, c) float32, None for a
    model without heads or exits.
    """

    score: numpy.ndarray
    logits: numpy.ndarray
    head_logits: numpy.ndarray | None = None
    exit_logits: numpy.ndarray | None = None


def score(
    model: nn.Module, pairs: "Dataset", encoder, precision="float32", batch_tokens: int | None = None, progress=False
) -> Scores:
    """P(correct) of every pair.

    encoder: what turns pairs into items and items into a batch (`unit`, `encode`, `collate`).
    precision: "float32", or "bf16" for the encoder (the final classifier always computes in float32).
    batch_tokens: of a batch, padding included; default: `BATCH_TOKENS` of the device.
    Memory is that of a batch and of what is returned, however many the pairs: their tokens are mapped from a file.
    The model is left in the mode, train or eval, in which it came.
    """
    items, training = encoder.encode(pairs), model.training
    arrow, columns = items.with_format("arrow"), items.with_format("numpy")
    sizes = columns["pairs"][:] if "pairs" in items.column_names else None
    with prepared(model):
        found = outputs(
            model, encoder, partial(rows_of, arrow), columns["length"][:], sizes, precision, batch_tokens, progress
        )
    model.train(training)
    return Scores(probability(found["logits"]), **found)


def on_gpu(model: nn.Module) -> nn.Module:
    """The model, moved to the GPU where there is one: `score` computes where a model is."""
    return model.to("cuda") if torch.cuda.is_available() else model


@contextmanager
def prepared(model: nn.Module) -> Iterator[None]:
    """Inside, a model is in evaluation mode, with float32 classifiers and with every kernel that always pays."""
    with ExitStack() as inside:
        for kernel in (classifying_in_float32, reading_first_token, reading_whole_batches):
            inside.enter_context(kernel(model.eval()))
        yield


def outputs(
    model: nn.Module,
    encoder,
    take: Callable[[list[int]], list[dict[str, Any]]],
    length: Sequence[int],
    sizes: Sequence[int] | None,
    precision: str,
    batch_tokens: int | None = None,
    progress: bool = False,
) -> dict[str, numpy.ndarray]:
    """What a `prepared` model returns for items, by the name in `OUTPUTS`: a row a pair, (m, …) float32, in order.

    take: the items of some rows.  length: tokens of each.  sizes: pairs in each, None where an item is a pair.
    """
    device, found = next(model.parameters()).device, {}
    batches = by_length(numpy.asarray(length), batch_tokens or BATCH_TOKENS["cpu" if device.type == "cpu" else "gpu"])
    ends = None if sizes is None else numpy.cumsum(sizes)
    with (
        torch.inference_mode(),
        autocast(device.type, precision),
        packing(model, precision) if len(batches) > 1 else nullcontext(),  # one batch would not repay it
    ):
        for rows in tqdm(batches, desc="scoring", unit="batch", disable=not progress, leave=False):
            batch = encoder.collate(take(rows.tolist()))
            output = model(**{name: value.to(device) for name, value in batch.items()})
            # rows of the pairs that these items hold
            at = rows if ends is None else numpy.concatenate([numpy.arange(ends[i] - sizes[i], ends[i]) for i in rows])
            for name in OUTPUTS:
                if output.get(name) is not None:
                    values = output[name].float().cpu().numpy()
                    if name not in found:
                        total = len(length) if ends is None else int(ends[-1])
                        found[name] = numpy.empty((total, *values.shape[1:]), dtype=numpy.float32)
                    found[name][at] = values
    return found


def cascaded(
    model: nn.Module, batch: dict[str, torch.Tensor], alpha: Ratios, question_index: numpy.ndarray, precision: str
) -> list[Any]:
    """A `prepared` cascade's `Ranking` of each question: its `rank`, with batches by length and every kernel."""
    device = next(model.parameters()).device
    batch_tokens = BATCH_TOKENS["cpu" if device.type == "cpu" else "gpu"]
    batch = {name: values.to(device) for name, values in batch.items()}
    many = batch["attention_mask"].sum() > batch_tokens
    with autocast(device.type, precision), packing(model, precision) if many else nullcontext():
        return model.rank(batch, alpha, question_index, batch_tokens)


def probability(logits: numpy.ndarray) -> numpy.ndarray:
    """P(correct) of (…, c = 2) logits, in float64.  Of tensors, with a gradient: `runs.fit.objectives.probability`."""
    wide = logits.astype(numpy.float64)
    return 1.0 / (1.0 + numpy.exp(wide[..., 0] - wide[..., 1]))


def autocast(device: str, precision: str):
    """The autocast context of a precision; ValueError for one that is not "float32" or "bf16"."""
    if precision not in ("float32", "bf16"):
        raise ValueError(f'precision: expected "float32" or "bf16", got {precision!r}')
    return torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16")


@contextmanager
def classifying_in_float32(model: nn.Module) -> Iterator[None]:
    """Inside, the final classifiers compute in float32 under autocast too: in bf16 one question in eight has ties."""

    def in_float32(forward: Callable[..., torch.Tensor], features: torch.Tensor, *args, **kwargs) -> torch.Tensor:
        with torch.autocast(features.device.type, enabled=False):
            return forward(features.float(), *args, **kwargs)

    classifiers = [module for name, module in model.named_modules() if name.split(".")[-1] == "classifier"]
    with replacing({classifier: partial(in_float32, classifier.forward) for classifier in classifiers}):
        yield


@contextmanager
def on_threads(threads: int) -> Iterator[None]:
    """Run with that many threads, the count that a run's identity names, whatever the caller had set."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
