"""Efficient answer sentence selection: data, models, losses, metrics and a store of runs for the study's notebooks."""

import warnings

from as2lib.params import Study

__all__ = ["Study"]

# A plain progress bar is what the reports want: no widget that a rendered page could not show.
warnings.filterwarnings("ignore", message="IProgress not found")
