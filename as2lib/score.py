"""Any model over any pair set, fast: sorted by length, padded per batch; knows no run and no metric.

m pairs in the set · k heads or exits · c = 2 classes
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

import numpy
import torch
from datasets import Dataset
from torch import nn
from tqdm.auto import tqdm

from as2lib.data.encode import PairEncoder, by_length, paired, rows_of
from as2lib.data.pairs import encoded
from as2lib.data.words import WordEncoder
from as2lib.metrics.probability import sigmoid
from as2lib.models.logits import logits_of, part_of, two_class_logits
from as2lib.precision import native_bf16

# Tokens of a scoring batch, padding included. With 8192 instead of 2048 a processor takes 1.5 times as long, probably
# for its caches and for the pages of large tensors, given back and faulted in again (see bench/README.md).
BATCH_TOKENS = defaultdict(lambda: 32_768, cpu=2048)  # of a processor, and of any other device
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
    model: nn.Module,
    pairs: Dataset,
    encoder: PairEncoder | WordEncoder,
    precision: str = "float32",
    batch_tokens: int | None = None,
    progress: bool = False,
) -> Scores:
    """P(correct) of every pair.

    model: as `models.load` gives it, where it is to compute; it is left in evaluation mode.  Of one label, z, logits
        are (0, z).
    precision: "float32", or "bf16" for the encoder (the final classifier always computes in float32).
    batch_tokens: of a batch, padding included; default: `BATCH_TOKENS` of the device.  progress: shown as a bar.
    Memory is that of a batch and of what is returned, however many the pairs: their tokens are mapped from a file.
    Equal candidates of a question are scored once, where its pairs stand together and a model reads each alone.
    Raises ValueError that names the first pair whose score is no number.
    """
    encoder = paired(model.eval(), encoder)
    table = pairs.select_columns(["question", "answer"]).with_format("arrow")[:]
    texts = (zip(*batch.to_pydict().values(), strict=True) for batch in table.to_batches(max_chunksize=65_536))
    items = encoded(pairs, encoder)
    values = outputs(model, encoder, items, chain.from_iterable(texts), precision, batch_tokens, progress=progress)
    odds = log_odds(values["logits"])
    require_numbers(odds, pairs["question"], pairs["answer"])
    return Scores(sigmoid(odds), **values)


def require_numbers(log_odds: numpy.ndarray, questions: Sequence[str], answers: Sequence[str]) -> None:
    """Raises ValueError that names the first pair whose log odds, (m,), are not finite, and have no order."""
    broken = numpy.flatnonzero(~numpy.isfinite(log_odds))
    if len(broken):
        row = int(broken[0])
        pair = f"{questions[row]!r:.60} and {answers[row]!r:.60}"
        raise ValueError(f"pair {row + 1}, {pair}: expected a number for its score, got {log_odds[row]}")


def first_rows(pairs: Iterable[tuple[Any, str]]) -> numpy.ndarray:
    """(m,) of each pair (question, candidate) the first row that is equal, among consecutive pairs of its question."""
    rows: dict[str, int] = {}
    first, last = [], None
    for row, (question, candidate) in enumerate(pairs):
        if question != last:
            last, rows = question, {}
        first.append(rows.setdefault(candidate, row))
    return numpy.array(first, dtype=int)


def outputs(
    model: nn.Module,
    encoder: PairEncoder | WordEncoder,
    items: Dataset | list[dict[str, Any]],
    texts: Iterable[tuple[str, str]],
    precision: str = "float32",
    batch_tokens: int | None = None,
    batch_size: int | None = None,
    progress: bool = False,
) -> dict[str, numpy.ndarray]:
    """What a model in evaluation mode returns for items, by the name in `OUTPUTS`: a row a pair, (m, …) float32.

    items: by `encoded` or `encoder.items`.  texts: each pair's; where an item is a pair, it has the output of
    the first that is equal, whatever batch it would be in.  batch_size: items of a batch, instead of `batch_tokens`.
    """
    device = model.device if hasattr(model, "device") else next(model.parameters()).device
    in_memory = isinstance(items, list)
    arrow = None if in_memory else items.with_format("arrow")

    def column(name: str) -> numpy.ndarray:
        return numpy.array([item[name] for item in items] if in_memory else items.with_format("numpy")[name][:])

    length = column("length")
    if whole := hasattr(encoder, "number"):  # items of several pairs
        sizes, unique = column("pairs"), numpy.arange(len(length))
    else:
        sizes, first = numpy.ones(len(length), int), first_rows(texts)
        unique = numpy.unique(first)
    batches = by_length(length[unique], batch_tokens or BATCH_TOKENS[device.type], batch_size)
    ends = numpy.cumsum(sizes)
    total = sizes.sum()
    values: dict[str, numpy.ndarray] = {"logits": numpy.empty((total, 2), dtype=numpy.float32)}
    with torch.inference_mode(), autocast(device.type, precision):
        for places in tqdm(batches, desc="scoring", unit="batch", disable=not progress, leave=False):
            rows = unique[places].tolist()
            batch = encoder.collate([items[row] for row in rows] if in_memory else rows_of(arrow, rows))
            output = model(**{name: tensor.to(device) for name, tensor in batch.items()})
            # Rows of the pairs that these items hold.
            at = numpy.concatenate([numpy.arange(ends[i] - sizes[i], ends[i]) for i in rows]) if whole else rows
            parts = {name: part_of(output, name) for name in OUTPUTS} | {"logits": logits_of(output)}
            for name, part in parts.items():
                if part is not None:
                    batch_values = two_class_logits(part).float().cpu().numpy()
                    if name not in values:
                        values[name] = numpy.empty((total, *batch_values.shape[1:]), dtype=numpy.float32)
                    values[name][at] = batch_values
    return values if whole else {name: part[first] for name, part in values.items()}


def parts_of(
    head_logits: numpy.ndarray | None, exit_logits: numpy.ndarray | None, exits: Sequence[int]
) -> dict[str, numpy.ndarray]:
    """P(correct) of each head, `head_0`, or exit, `exit_4` behind four layers, by its name, (m,) each; {} without."""
    if head_logits is not None:
        return {f"head_{i}": column for i, column in enumerate(probability(head_logits).T)}
    if exit_logits is not None:
        return {f"exit_{layers}": column for layers, column in zip(exits, probability(exit_logits).T, strict=True)}
    return {}


def probability(logits: numpy.ndarray) -> numpy.ndarray:
    """P(correct), float64, of (…, c = 2) logits."""
    return sigmoid(log_odds(logits))


def log_odds(logits: numpy.ndarray) -> numpy.ndarray:
    """The difference of (…, c = 2) logits, float64: what ranks, where probabilities would tie at 1."""
    wide = logits.astype(numpy.float64)
    return wide[..., 1] - wide[..., 0]


def autocast(device: str, precision: str) -> torch.autocast:
    """A context to compute in "float32" or "bf16".  Raises ValueError for another, and for bf16 that a device lacks."""
    if precision not in ("float32", "bf16"):
        raise ValueError(f'precision: expected "float32" or "bf16", got {precision!r}')
    if precision == "bf16" and not native_bf16(device):
        raise ValueError(f'precision: expected "float32" on this {device}, which does not multiply bf16, got "bf16"')
    return torch.autocast(device.partition(":")[0], dtype=torch.bfloat16, enabled=precision == "bf16")


@contextmanager
def on_threads(threads: int) -> Iterator[None]:
    """Run with that many threads, the count that a run's identity names, whatever the caller had set."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
