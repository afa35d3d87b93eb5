"""Linear layers over weights laid out once for the processor's own matrix kernels."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn
from transformers.activations import GELUActivation

from as2lib.kernels import replacing

SMALLEST = 2**16  # weights of a layer: below, choosing a kernel for each new shape costs more than it saves
PRIVATE = ("_reorder_linear_weight", "_linear_pointwise", "_is_mkldnn_bf16_supported")  # operators of torch


@contextmanager
def packing(model: nn.Module, precision: str) -> Iterator[None]:
    """Inside, the large linear layers of a model on a processor multiply with a packed copy of their weights.

    An ordinary product lays the weights out anew each time, and a GELU after it reads and writes its result once more.
    The same but for rounding; for inference, and while the weights do not change.
    precision: "float32", or "bf16" for what runs under autocast; a layer outside it stays as it is.
    Does nothing where torch has no such kernels for the processor.
    """
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    forwards, kernels = {}, operators(dtype)
    for module, linear, after in products(model) if kernels else ():
        pack, multiply = kernels
        weight = pack(linear.weight.detach().to(dtype))
        bias = None if linear.bias is None else linear.bias.detach().to(dtype)
        forwards[module] = partial(_multiply, multiply, weight, bias, after, module.forward)
    with replacing(forwards):
        yield


def operators(dtype: torch.dtype) -> tuple[Callable, Callable] | None:
    """torch's private operators that pack weights and multiply with them; None where it or the processor has none."""
    pack, multiply, supports_bf16 = (getattr(torch.ops.mkldnn, name, None) for name in PRIVATE)
    if not (pack and multiply and supports_bf16 and torch.backends.mkldnn.is_available()):
        return None
    return (pack, multiply) if dtype == torch.float32 or supports_bf16() else None


def products(model: nn.Module) -> Iterator[tuple[nn.Module, nn.Linear, str]]:
    """Modules that are one product, their linear layer, and what follows it: "gelu", the exact one, or "none"."""
    inside = set()
    for module in model.modules():
        if isinstance(getattr(module, "intermediate_act_fn", None), GELUActivation):
            linear, after = module.dense, "gelu"
            inside.add(linear)
        else:
            linear, after = module, "none"
        if type(linear) is nn.Linear and (linear is not module or module not in inside) and _is_large(linear.weight):
            yield module, linear, after


def _is_large(weight: torch.Tensor) -> bool:
    return weight.numel() >= SMALLEST and weight.device.type == "cpu" and weight.dtype == torch.float32


def _multiply(multiply, weight, bias, after: str, ordinary: Callable, x: torch.Tensor) -> torch.Tensor:
    if torch.is_autocast_enabled("cpu") != (weight.dtype == torch.bfloat16):
        return ordinary(x)
    with torch.autocast("cpu", enabled=False):
        return multiply(x.to(weight.dtype), weight, bias, after, [], "none")
