"""Losses: pure functions of tensors, which know no model and no data; by their names in `fit.objectives.LOSSES`."""
