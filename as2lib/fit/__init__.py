"""Training: the only place where models, losses and metrics meet.  `train` is what `as2 train` and every run call."""

import os
from importlib import import_module
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts: deterministic products

__all__ = ["LOSSES", "Fit", "teacher_logits", "train"]
_HOMES = {"LOSSES": "objectives", "Fit": "loop", "teacher_logits": "teachers", "train": "loop"}


def __getattr__(name: str) -> Any:
    """What trains, with torch: a study is planned by `fit.objectives` without it."""
    if name not in __all__:
        raise AttributeError(f"module 'as2lib.fit' has no attribute {name!r}")
    return getattr(import_module(f"as2lib.fit.{_HOMES[name]}"), name)
