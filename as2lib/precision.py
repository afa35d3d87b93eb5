"""What this machine is called, and which precision it computes fast in; imports no torch."""

import os
import platform
import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def computed_in(precision: str) -> str:
    """A precision where "auto" stands for bf16 on a processor or GPU that has it, else for float32."""
    return ("bf16" if native_bf16() else "float32") if precision == "auto" else precision


def native_bf16() -> bool:
    """Whether the processor, or an NVIDIA GPU of the last generations, multiplies bf16 natively."""
    if Path("/proc/driver/nvidia/version").exists():
        return True
    flags = CPUINFO.read_text() if CPUINFO.exists() else ""
    return any(flag in flags for flag in ("avx512_bf16", "amx_bf16", " bf16"))


def machine() -> str:
    """The name of the processor and its cores, which stands beside measured times."""
    named = re.search(r"^model name\s*: *(.+)$", CPUINFO.read_text() if CPUINFO.exists() else "", re.MULTILINE)
    return f"{named[1] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
