"""Metrics: pure functions of arrays, which know no model and no study; each stands in its module."""
