"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

from as2lib.params import Study

__all__ = ["Study"]
