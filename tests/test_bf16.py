"""Products of bf16 where the processor has none: those of float32, rounded, and nothing else changes."""

import subprocess
import sys

import pytest
import torch

from as2lib import bf16

LEFT, RIGHT = (torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in [(3, 5, 7), (3, 7, 4)])
BIAS = torch.linspace(-2, 2, 4)  # broadcasts
PRODUCTS = [
    ("mm", (LEFT[0], RIGHT[0]), {}),
    ("bmm", (LEFT, RIGHT), {}),
    ("addmm", (BIAS, LEFT[0], RIGHT[0]), {}),
    ("addmm", (BIAS, LEFT[0], RIGHT[0]), {"beta": 0.5, "alpha": 2}),
    ("baddbmm", (BIAS, LEFT, RIGHT), {"beta": 0.5, "alpha": 2}),
    ("mm", (RIGHT[0].T, LEFT[0].T), {}),  # operands that are not contiguous
    ("bmm", (LEFT[:, :0], RIGHT), {}),
]


@pytest.mark.parametrize(("name", "operands", "factors"), PRODUCTS)
def test_a_product_is_the_exact_one_of_rounded_operands_rounded_once(name, operands, factors):
    rounded = [x.bfloat16() for x in operands]
    ours = getattr(bf16, name)(*rounded, **factors)
    exact = getattr(torch, name)(*(x.double() for x in rounded), **factors)
    assert ours.dtype == torch.bfloat16
    assert ours.shape == exact.shape
    torch.testing.assert_close(ours.double(), exact, rtol=2**-8, atol=1e-6)  # half a unit in the last of eight places


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize(("name", "operands", "factors"), PRODUCTS)
def test_a_product_of_another_type_keeps_its_bits(name, operands, factors, kind):
    operands = [(8 * x).to(kind) for x in operands]
    factors = {factor: value if kind.is_floating_point else int(value) for factor, value in factors.items()}
    assert torch.equal(getattr(bf16, name)(*operands, **factors), getattr(torch, name)(*operands, **factors))


# In a process of its own, as an override is the whole process's.
PROGRAM = """
import sys
from pathlib import Path
import torch
from as2lib import bf16, precision
from as2lib.score import autocast

precision.CPUINFO = Path(sys.argv[1])
calls = []
rounded = bf16._rounded
bf16._rounded = lambda product, operands, shape, **factors: (
    calls.append(operands[0].dtype), rounded(product, operands, shape, **factors))[1]
torch.manual_seed(0)
layer, x = torch.nn.Linear(4, 3), torch.randn(2, 5, 4)
layer(x).sum().backward()
exact = layer.weight.grad.clone()
with autocast("cpu", "float32"):
    layer(x)
assert not calls
for _ in range(2):
    layer.zero_grad()
    with autocast("cpu", "bf16"):
        output = layer(x)
    output.float().sum().backward()
assert output.dtype == torch.bfloat16
torch.testing.assert_close(layer.weight.grad, exact, rtol=2e-2, atol=2e-2)
print(calls.count(torch.bfloat16))
"""


@pytest.mark.parametrize(("flags", "products"), [("flags : fpu avx2", 4), ("flags : fpu avx2 avx512_bf16", 0)])
def test_products_are_replaced_forward_and_backward_only_where_a_processor_has_none(tmp_path, flags, products):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(flags)
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, cpuinfo], capture_output=True, text=True, check=False
    )
    assert (printed.returncode, printed.stdout.strip()) == (0, str(products)), printed.stderr
