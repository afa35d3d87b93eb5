"""Training: the only place where models, losses and metrics meet.  `train` is what `as2 train` and every run call."""

import os
from typing import TYPE_CHECKING

from as2lib import lazy

if TYPE_CHECKING:
    from as2lib.fit.loop import Fit, train
    from as2lib.fit.objectives import LOSSES
    from as2lib.fit.teachers import teacher_logits

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts: deterministic products

__all__ = ["LOSSES", "Fit", "teacher_logits", "train"]
_names = {".loop": "Fit train", ".objectives": "LOSSES", ".teachers": "teacher_logits"}
__getattr__, __dir__, _ = lazy.names(__name__, _names)
