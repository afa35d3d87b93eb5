"""Metrics: pure functions of arrays, which know no model and no study."""

from importlib import import_module
from typing import Any

_NAMES = {
    "ranking": ("per_question", "summary"),
    "significance": ("compare", "equality", "holm", "over_questions_and_seeds", "smallest_difference", "verdict"),
    "threshold": ("gsb", "pair_pr_auc", "pair_recall_at_precision", "question_recall_at_precision"),
    "agreement": ("rank_correlation",),
    "cost": ("cascade_cost", "forward_flops", "latency", "operations", "parameters", "sequential_cost"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = [*_NAMES, *_HOMES]


def __getattr__(name: str) -> Any:
    """A module of metrics, or what it has: imported, with numpy and scipy, where it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'as2lib.metrics' has no attribute {name!r}")
    module = import_module(f"as2lib.metrics.{_HOMES.get(name, name)}")
    return getattr(module, name) if name in _HOMES else module
