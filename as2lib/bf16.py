"""bf16 where the processor has no instruction for it: products of rounded operands in float32, rounded.

That is what the instruction computes, up to the order of its sums, in the time of float32.  torch itself falls back on
loops that take ten times as long.
"""

import warnings
from functools import cache

import torch

from as2lib.precision import native_bf16


@cache
def provide() -> None:
    """Compute this process's bf16 products on the processor in float32, unless the processor multiplies bf16 itself.

    Products of other types give the bits that they gave.
    """
    if native_bf16("cpu"):
        return
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)  # that they are replaced
        for product in (mm, bmm, addmm, baddbmm):
            library.impl(product.__name__, product, "CPU", allow_override=True)
    LIBRARIES.append(library)  # an override lasts as long as its library


LIBRARIES: list[torch.library.Library] = []


def mm(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """(n, m) times (m, k)."""
    return _rounded(torch.mm, (left, right), (left.shape[0], right.shape[1]))


def bmm(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """(b, n, m) times (b, m, k)."""
    return _rounded(torch.bmm, (left, right), (*left.shape[:2], right.shape[2]))


def addmm(bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta=1, alpha=1) -> torch.Tensor:
    """`mm`, and a bias that broadcasts to it: beta * bias + alpha * left right."""
    return _rounded(torch.addmm, (bias, left, right), (left.shape[0], right.shape[1]), beta=beta, alpha=alpha)


def baddbmm(bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta=1, alpha=1) -> torch.Tensor:
    """`bmm`, and a bias that broadcasts to it."""
    return _rounded(torch.baddbmm, (bias, left, right), (*left.shape[:2], right.shape[2]), beta=beta, alpha=alpha)


def _rounded(product, operands, shape, **factors) -> torch.Tensor:
    """A product in float32 where the operands are bf16, else in their own type.

    It is computed by its variant with `out`, which no override replaces.
    """
    kind = operands[0].dtype
    if kind is torch.bfloat16:
        return product(*(x.float() for x in operands), out=torch.empty(shape), **factors).to(kind)
    return product(*operands, out=torch.empty(shape, dtype=kind), **factors)
