"""Training: the only place where models, losses and metrics meet.  `train` is what `as2 train` and every run call."""

import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts: deterministic products

from as2lib.fit.loop import Fit, train
from as2lib.fit.objectives import LOSSES
from as2lib.fit.teachers import teacher_logits

__all__ = ["LOSSES", "Fit", "teacher_logits", "train"]
