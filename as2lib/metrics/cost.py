"""What a model costs to run: parameters, bytes, operations and time; knows no data set and no metric of quality."""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from as2lib.metrics.pruning import Ratios, survivors

Batch = Mapping[str, torch.Tensor]


class Latency(NamedTuple):
    """Seconds a batch, mean and sample standard deviation over `repeats`, and where they were measured."""

    mean: float
    deviation: float
    batch: int
    tokens: int
    repeats: int
    device: str
    threads: int  # of the processor


def parameters(model: nn.Module) -> int:
    """Trainable parameters; one that several layers share counts once."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def weight_bytes(model: nn.Module) -> int:
    """Bytes of the model's weights, trainable or not, in the type that they have; activations are not counted."""
    return sum(weight.numel() * weight.element_size() for weight in model.parameters())


def forward_flops(model: nn.Module, batch: Batch) -> int:
    """Floating point operations of one forward pass over the batch, without gradients: see `flops`.

    batch: the forward's arguments, where the model is.  The model is left in the mode, train or eval, it came in.
    """
    training = model.training
    model.eval()
    counted = flops(lambda: model(**batch))
    model.train(training)
    return counted


def flops(call: Callable[[], Any]) -> int:
    """Floating point operations of a call, without gradients.

    Matrix products and convolutions count, each multiplication and each addition as one; everything else, lookups and
    normalisations, is left out, as is a fused recurrent layer.  On the meta device nothing is computed.
    Source: torch.utils.flop_counter, with attention as plain matrix products (it undercounts fused attention).
    """
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def latency(models: nn.Module | Sequence[nn.Module], batch: Batch, repeats: int, warmup: int = 1) -> Latency:
    """Wall-clock time of one forward pass over a batch that is on the device already; nothing is tokenised.

    models: one, or the members of an ensemble, which run one after another.  batch: tensors of shape (b, n), for each.
    repeats: timed passes; `warmup` passes before them are not.  The device is synchronised around each.
    Raises ValueError for fewer than two repeats, which have no spread, or where there is no model.
    Source: CERBERUS section 5.5, which times batches of 128 on one GPU.
    """
    members = [models] if isinstance(models, nn.Module) else list(models)
    if repeats < 2 or not members:
        raise ValueError(f"expected 2 or more repeats of 1 or more models, got {repeats} of {len(members)}")
    modes = [member.training for member in members]
    first = next(iter(batch.values()))
    with torch.inference_mode():
        seconds = [_seconds([member.eval() for member in members], batch) for _ in range(warmup + repeats)][warmup:]
    for member, training in zip(members, modes, strict=True):
        member.train(training)
    device = torch.cuda.get_device_name(first.device) if first.is_cuda else first.device.type
    shape = (*first.shape[:2], repeats, device, torch.get_num_threads())
    return Latency(statistics.mean(seconds), statistics.stdev(seconds), *shape)


def _seconds(members: Sequence[nn.Module], batch: Batch) -> float:
    _synchronise(batch)
    start = time.perf_counter()
    for member in members:
        member(**batch)
    _synchronise(batch)
    return time.perf_counter() - start


def _synchronise(batch: Batch) -> None:
    if any(tensor.device.type not in ("cpu", "meta") for tensor in batch.values()):
        torch.accelerator.synchronize()


# --- pruning: e exits or models in sequence, of which each but the last drops a share alpha of the candidates


def cascade_cost(
    depth: int, exits: Sequence[int], alpha: Ratios, candidates: int | Sequence[int] | None = None
) -> float:
    """Layers that a cascade computes, over those of the monolithic model of `depth` layers, which is 1.0.

    cost = Σ_i (exits_i − exits_(i−1)) · s_i / depth,  s_i the share of the candidates that reaches exit i

    alpha: the drop ratio, a number or one for each exit but the last.  candidates: how many a question has, or those of
    several questions together; the shares are then exact, with floor(alpha · m) dropped of m, else s_i = Π (1 − alpha).
    Raises ValueError for exits that are not increasing or exceed the depth, and for an alpha outside [0, 1).
    Source: Cascade Transformer, section 4.3.2 and Table 3.  Independent models: `sequential_cost`.
    """
    return _cost(depth, exits, numpy.diff(exits, prepend=0), alpha, candidates)


def sequential_cost(
    depth: int, exits: Sequence[int], alpha: Ratios, candidates: int | Sequence[int] | None = None
) -> float:
    """The same for independent models of `exits` layers in sequence, each starting anew: Σ_i exits_i · s_i / depth.

    Arguments and errors as in `cascade_cost`.  Source: Cascade Transformer, Table 3.
    """
    return _cost(depth, exits, exits, alpha, candidates)


def _cost(depth, exits, layers, alpha, candidates) -> float:
    if not exits or sorted(set(exits)) != list(exits) or not 1 <= exits[0] <= exits[-1] <= depth:
        raise ValueError(f"exits: expected increasing layers, 1 to {depth}, got {list(exits)}")
    reached = [float(numpy.sum(left)) for left in survivors(len(exits), alpha, candidates)]
    return math.fsum(map(math.prod, zip(layers, reached, strict=True))) / (depth * reached[0])
