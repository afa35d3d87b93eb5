"""Metrics: pure functions of arrays, which know no model and no study."""

from as2lib.metrics import agreement, cost, ranking, significance, threshold

__all__ = ["agreement", "cost", "ranking", "significance", "threshold"]
