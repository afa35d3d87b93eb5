"""What a model costs to run: parameters, operations and time; knows no data set and no metric of quality."""

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from as2lib.metrics.pruning import Ratios, survivors

if TYPE_CHECKING:
    from torch import Tensor, nn

# b pairs in a batch · n tokens
DECIMALS = 12  # the last bits of a mean must not decide what dominates what


def parameters(model: "nn.Module") -> int:
    """Trainable parameters; one that several layers share counts once."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def forward_flops(model: "nn.Module", batch: "Mapping[str, Tensor]") -> int:
    """Multiply-adds of one forward pass over the batch: a multiplication with its addition is one.

    Matrix products and convolutions count, those of recurrent layers too; look-ups and normalisations are left out.
    batch: the forward's arguments, where the model is; on the device "meta" neither needs memory nor time.
    Source: torch.utils.flop_counter, halved, with attention and recurrent layers as plain matrix products (it
    undercounts fused attention, and does not see a fused LSTM).
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    training, trainable = model.training, [weight for weight in model.parameters() if weight.requires_grad]
    model.eval().requires_grad_(False)  # the counter fails on a module whose input is a weight that is to learn
    try:
        with warnings.catch_warnings(), torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            warnings.simplefilter("ignore")  # of oneDNN's other switches, which are set with the first
            with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
                model(**batch)
    finally:
        model.train(training)
        for weight in trainable:
            weight.requires_grad_(True)
    return counter.get_total_flops() // 2


def latency(models: "Sequence[nn.Module]", batch: "Mapping[str, Tensor]", repeats: int) -> dict[str, Any]:
    """Wall-clock time of one forward pass over a batch that is on the device already; nothing is tokenised.

    models: one, or the members of an ensemble, which run one after another.  batch: tensors of shape (b, n), for each.
    repeats: timed passes, after one that is not.  The device is synchronised around each.
    Returns their mean in `seconds`, and where it was measured: `batch`, `tokens`, `device`, `threads` of the processor.
    Source: CERBERUS section 5.5, which times batches of 128 on one GPU.
    """
    import torch

    modes, first, passes = [model.training for model in models], next(iter(batch.values())), []

    def now() -> float:
        if first.device.type != "cpu":
            torch.accelerator.synchronize()
        return time.perf_counter()

    for model in models:
        model.eval()
    with torch.inference_mode():
        for _ in range(1 + repeats):
            start = now()
            for model in models:
                model(**batch)
            passes.append(now() - start)
    for model, training in zip(models, modes, strict=True):
        model.train(training)
    return {
        "seconds": math.fsum(passes[1:]) / repeats,
        "batch": first.shape[0],
        "tokens": first.shape[1],
        "device": torch.cuda.get_device_name(first.device) if first.is_cuda else first.device.type,
        "threads": torch.get_num_threads(),
    }


def front(cost: Sequence[float], values: numpy.ndarray) -> numpy.ndarray:
    """Which systems no other dominates, with as high a value at a lower cost or a higher one at the same cost.

    cost: (s,).  values: (s,), or (r, s): several cases of the same systems.  Both are rounded to `DECIMALS`.
    Returns bool in the shape of the values; equals at one cost all stand.
    """
    values = numpy.round(values, DECIMALS)
    cases = numpy.atleast_2d(values)
    _, group = numpy.unique(numpy.round(cost, DECIMALS), return_inverse=True)
    best = numpy.full((group.max() + 1, len(cases)), -numpy.inf)
    numpy.maximum.at(best, group, cases.T)
    cheaper = numpy.vstack([numpy.full((1, len(cases)), -numpy.inf), numpy.maximum.accumulate(best)[:-1]])
    return ((cases > cheaper[group].T) & (cases == best[group].T)).reshape(values.shape)


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
    """The same for independent models of `exits` layers in sequence, each starting anew: Σ_i exits_i · s_i / depth."""
    return _cost(depth, exits, exits, alpha, candidates)


def _cost(depth, exits, layers, alpha, candidates) -> float:
    if not exits or sorted(set(exits)) != list(exits) or not 1 <= exits[0] <= exits[-1] <= depth:
        raise ValueError(f"exits: expected increasing layers, 1 to {depth}, got {list(exits)}")
    reached = [float(numpy.sum(left)) for left in survivors(len(exits), alpha, candidates)]
    return math.fsum(map(math.prod, zip(layers, reached, strict=True))) / (depth * reached[0])
