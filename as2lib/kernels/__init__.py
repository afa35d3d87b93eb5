"""What models compute, computed faster: inside a block a model's modules take another `forward` with equal results.

Kernels know the models; no model knows a kernel. Each is equal to its plain model but for rounding, by a test.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn


@contextmanager
def replacing(forwards: Mapping[nn.Module, Callable[..., Tensor]]) -> Iterator[None]:
    """Inside, modules compute with these functions in place of their own `forward`; afterwards they are as before."""
    before = {module: vars(module).get("forward") for module in forwards}
    for module, forward in forwards.items():
        module.forward = forward
    try:
        yield
    finally:
        for module, forward in before.items():
            if forward is None:
                del module.forward
            else:
                module.forward = forward
