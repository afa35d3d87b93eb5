"""Any model over any pair set, fast: sorted by length, padded per batch; knows no run and no metric.

m pairs in the set · k heads or exits · c = 2 classes
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy
import torch
from datasets import Dataset
from torch import nn
from tqdm.auto import tqdm

from as2lib.data.encode import PairEncoder, by_length, paired
from as2lib.data.pairs import parts_of_questions
from as2lib.data.words import WordEncoder
from as2lib.metrics.probability import sigmoid
from as2lib.models.logits import logits_of, part_of, two_class_logits
from as2lib.precision import native_bf16

# Tokens of a scoring batch, padding included. With 8192 instead of 2048 a processor takes 1.5 times as long, probably
# for its caches and for the pages of large tensors, given back and faulted in again (see bench/README.md).
BATCH_TOKENS = defaultdict(lambda: 32_768, cpu=2048)  # of a processor, and of any other device
PAIRS_HELD = 16_384  # of which a call holds the tokens at once
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
    batch_size: int | None = None,
    progress: bool = False,
) -> Scores:
    """P(correct) of every pair.

    model: as `models.load` gives it, where it is to compute; it is left in evaluation mode.  Of one label, z, logits
        are (0, z).
    pairs: the rows of a question together.
    precision: "float32", or "bf16" for the encoder (the final classifier always computes in float32).
    batch_size: items of a batch; default: as many as `BATCH_TOKENS` of the device hold.  progress: shown as a bar.
    Memory is that of `PAIRS_HELD` pairs, or of a question, and of what is returned.
    Equal candidates of a question are scored once, where a model reads each alone.
    Raises ValueError that names the first pair whose score is no number.
    """
    encoder, device = paired(model.eval(), encoder), getattr(model, "device", None) or next(model.parameters()).device
    parts, bar = [], tqdm(total=len(pairs), desc="scoring", unit="pair", disable=not progress, leave=False)
    with bar, torch.inference_mode(), autocast(device.type, precision):
        for part in parts_of_questions(pairs, PAIRS_HELD):
            parts.append(_outputs(model, encoder, part, device, batch_size))
            bar.update(len(part["answer"]))
    values = {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}
    odds = log_odds(values["logits"])
    if len(broken := numpy.flatnonzero(~numpy.isfinite(odds))):  # which have no order
        row = int(broken[0])
        texts = f"{pairs[row]['question']!r:.60} and {pairs[row]['answer']!r:.60}"
        raise ValueError(f"pair {row + 1}, {texts}: expected a number for its score, got {odds[row]}")
    return Scores(sigmoid(odds), **values)


def _outputs(
    model: nn.Module, encoder: Any, part: Mapping[str, list[Any]], device: torch.device, batch_size: int | None
) -> dict[str, numpy.ndarray]:
    """What a model returns for pairs of whole questions, by the name in `OUTPUTS`: a row a pair, (m, …) float32."""
    first = same = numpy.arange(len(part["answer"]))
    if encoder.unit == "pair":
        first, same = distinct(zip(part["question"], part["answer"], strict=True))
    items = encoder.items(*([part[name][i] for i in first] for name in ("question", "answer", "question_id")))
    places = numpy.split(numpy.arange(len(first)), numpy.cumsum([item.get("pairs", 1) for item in items])[:-1])
    order, values = [], defaultdict(list)
    for rows in by_length(numpy.array([item["length"] for item in items]), BATCH_TOKENS[device.type], batch_size):
        batch = encoder.collate([items[row] for row in rows])
        output = model(**{name: tensor.to(device) for name, tensor in batch.items()})
        order += [places[row] for row in rows]  # an item is a pair, or all of a question
        logits = {name: part_of(output, name) for name in OUTPUTS} | {"logits": logits_of(output)}
        for name in (name for name in OUTPUTS if logits[name] is not None):
            values[name].append(two_class_logits(logits[name]).float().cpu().numpy())
    rows = numpy.argsort(numpy.concatenate(order))[same]
    return {name: numpy.concatenate(batches)[rows] for name, batches in values.items()}


def distinct(pairs: Iterable[Any]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The first row of each pair that is no other's equal, (u,), and which of these each of m pairs is, (m,)."""
    number: dict[Any, int] = {}
    same = numpy.array([number.setdefault(pair, len(number)) for pair in pairs], dtype=int)
    return numpy.unique(same, return_index=True)[1], same


def parts_of(scores: Scores, exits: Sequence[int]) -> dict[str, numpy.ndarray]:
    """P(correct) of each head, `head_0`, or exit, `exit_4` behind four layers, by its name, (m,) each; {} without."""
    logits = scores.exit_logits if scores.head_logits is None else scores.head_logits
    if logits is None:
        return {}
    names = [f"exit_{layers}" for layers in exits] or [f"head_{i}" for i in range(logits.shape[1])]
    return dict(zip(names, probability(logits).T, strict=True))


def probability(logits: numpy.ndarray) -> numpy.ndarray:
    """P(correct), float64, of (…, c = 2) logits."""
    return sigmoid(log_odds(logits))


def log_odds(logits: numpy.ndarray) -> numpy.ndarray:
    """The difference of (…, c = 2) logits, float64: what ranks, where probabilities would tie at 1."""
    wide = logits.astype(numpy.float64)
    return wide[..., 1] - wide[..., 0]


def autocast(device: str, precision: str) -> torch.autocast:
    """A context to compute in "float32" or "bf16".  Raises ValueError for another, and for bf16 that a device lacks."""
    if precision != "float32" and not (precision == "bf16" and native_bf16(device)):
        expected = f'expected "float32", or "bf16" where a {device} multiplies it natively'
        raise ValueError(f"precision: {expected}, got {precision!r}")
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
