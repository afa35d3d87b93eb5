"""Which precision this machine computes fast in; imports no torch."""

from pathlib import Path


def computed_in(precision: str) -> str:
    """A precision where "auto" stands for bf16 on a processor or GPU that has it, else for float32."""
    return ("bf16" if native_bf16() else "float32") if precision == "auto" else precision


def native_bf16() -> bool:
    """Whether the processor, or an NVIDIA GPU of the last generations, multiplies bf16 natively."""
    if Path("/proc/driver/nvidia/version").exists():
        return True
    cpuinfo = Path("/proc/cpuinfo")
    flags = cpuinfo.read_text() if cpuinfo.exists() else ""
    return any(flag in flags for flag in ("avx512_bf16", "amx_bf16", " bf16"))
