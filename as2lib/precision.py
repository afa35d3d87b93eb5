"""What this machine is called, where it computes, and in which precision."""

import os
import platform

import torch


def computing_on(device: str | None = None) -> str:
    """The device that is asked for, if it is there; None: the GPU where there is one, else the processor."""
    device = str(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device: expected one that is here, got {device!r}: {str(error).splitlines()[0]}") from None
    return device


def computed_in(precision: str, device: str | None = None) -> str:
    """A precision; "auto" stands for bf16 on a device that has it, else for float32."""
    return ("bf16" if native_bf16(device) else "float32") if precision == "auto" else precision


def native_bf16(device: str | None = None) -> bool:
    """Whether a device multiplies bf16 natively: a processor that says so, an NVIDIA GPU from capability 8.0 on."""
    device = computing_on(device)
    if device.startswith("cuda"):
        return torch.cuda.get_device_capability(device) >= (8, 0)
    processor = torch.cpu.get_capabilities()
    return device == "cpu" and any(processor.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def machine() -> str:
    """The name of the processor and its cores, which stands beside measured times."""
    return f"{torch.cpu.get_capabilities().get('cpu_name') or platform.machine()}, {os.cpu_count()} cores"
