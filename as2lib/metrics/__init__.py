"""Metrics: pure functions of arrays, one kind a module, which know no model and no study."""
