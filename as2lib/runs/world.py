"""The processes that make one run together, as `torchrun` starts them; imports torch only where there are several."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

Value = TypeVar("Value")
PATIENCE = timedelta(hours=12)  # while the first process scores alone, the others wait for it


def size() -> int:
    """How many processes there are: one, unless `torchrun` started this one."""
    return int(os.environ.get("WORLD_SIZE", 1)) if "RANK" in os.environ else 1


def rank() -> int:
    """The number of this process; the one of number 0 alone writes."""
    return int(os.environ["RANK"]) if size() > 1 else 0


def agreed(value: Value) -> Value:
    """What the first process says, in all of them, once all of them ask."""
    if size() == 1:
        return value
    import torch
    from accelerate import PartialState
    from torch import distributed

    if not distributed.is_initialized():  # whose processes the Trainer takes for its own: gloo, or NCCL on GPUs
        PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)
    said: list[Any] = [value]
    distributed.broadcast_object_list(said)
    distributed.barrier()
    return said[0]


@contextmanager
def first_alone() -> Iterator[None]:
    """Inside, the first process goes before the others, which then find what it left on disk."""
    if rank():
        agreed(None)
    yield
    if not rank():
        agreed(None)


def weight(rows: int) -> float:
    """What this process's mean over its rows of a batch counts for, so that the processes' mean is that of all rows."""
    if size() == 1:
        return 1.0
    import torch

    every = torch.tensor(float(rows), device="cuda" if torch.distributed.get_backend() == "nccl" else "cpu")
    torch.distributed.all_reduce(every)
    return rows * size() / every.item()


def mean(values: "torch.Tensor") -> "torch.Tensor":
    """The mean of a tensor over the processes."""
    if size() > 1:
        from torch import distributed

        distributed.all_reduce(values)
        values /= size()
    return values
