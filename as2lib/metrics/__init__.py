"""Metrics: pure functions of arrays, which know no model and no study."""

from importlib import import_module
from typing import Any

MODULES = ("ranking", "significance", "threshold", "agreement", "cost")


def __getattr__(name: str) -> Any:
    """A module of metrics, or what it has: imported, with numpy and scipy, where it is first used."""
    if not name.startswith("_"):
        for module in [name] if name in MODULES else MODULES:
            found = import_module(f"{__name__}.{module}")
            if module == name or hasattr(found, name):
                return found if module == name else getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
