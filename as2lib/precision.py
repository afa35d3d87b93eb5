"""What this machine is called, where it computes, and in which precision; imports torch only to ask a GPU."""

import os
import platform
import re
import sys
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
DRIVER = Path("/proc/driver/nvidia/version")


def computing_on(device: str | None = None) -> str:
    """The device that is asked for, if it is there; None: the GPU where there is one, else the processor."""
    import torch

    has_gpu = torch.cuda.is_available()
    if device is None:
        return "cuda" if has_gpu else "cpu"
    devices = ["cpu"]
    if has_gpu:
        devices += ["cuda", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        devices.append("mps")
    if str(device) not in devices:
        raise ValueError(f"device: expected one of {', '.join(devices)}, which are here, got {str(device)!r}")
    return str(device)


def computed_in(precision: str, device: str | None = None) -> str:
    """A precision; "auto" stands for bf16 on a device that has it, else for float32."""
    return ("bf16" if native_bf16(device) else "float32") if precision == "auto" else precision


def native_bf16(device: str | None = None) -> bool:
    """Whether a device multiplies bf16 natively: a processor by its flags, an NVIDIA GPU from capability 8.0 on.

    device: default: the GPU where there is one, else the processor.
    """
    if device is None and ("torch" in sys.modules or DRIVER.exists()):
        device = computing_on()
    if device is not None and device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device not in (None, "cpu"):
        return False
    flags = CPUINFO.read_text() if CPUINFO.exists() else ""
    return any(flag in flags for flag in ("avx512_bf16", "amx_bf16", " bf16"))


def machine() -> str:
    """The name of the processor and its cores, which stands beside measured times."""
    model_name = re.search(r"^model name\s*: *(.+)$", CPUINFO.read_text() if CPUINFO.exists() else "", re.MULTILINE)
    processor = model_name[1] if model_name else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores"
