"""What a teacher says of a set of pairs: its logits; knows no loss.

m pairs · c = 2 classes
"""

from pathlib import Path
from typing import Any, TypeAlias

import numpy
import torch
from datasets import Dataset
from torch import nn

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.models.cross_encoder import for_ranking
from as2lib.precision import computing_on
from as2lib.score import score

Teacher: TypeAlias = str | Path | numpy.ndarray | Any  # what has a model and its encoder: a Fit, a Ranker


def teacher_logits(
    teacher: Teacher,
    pairs: Dataset,
    precision: str = "float32",
    device: str | torch.device | None = None,
    progress: bool = False,
) -> numpy.ndarray:
    """A teacher's logits over a set of pairs, (m, c) float32.  A reranker with one label says (0, z).

    teacher: a model's folder or hub name; what has a `model` and its own `encoder` (a `Fit`, a `Ranker`); or its logits
        already, (m, 2), (m, 1) or (m,).
    Raises ValueError for a module without an encoder (another's tokens are noise to it), and where there is not a row
    of logits a pair, or they are not finite.
    """
    if isinstance(teacher, nn.Module) or getattr(teacher, "encoder", teacher) is None:
        expected = "expected a model with its own encoder, Ranker(model, encoder), or its folder"
        raise ValueError(f"teacher {type(teacher).__name__}: {expected}; got one alone")
    if is_logits(teacher):
        values = teacher.detach().float().cpu() if isinstance(teacher, torch.Tensor) else teacher
        with numpy.errstate(over="ignore"):  # what is no float32 is refused as infinite
            logits = numpy.asarray(values, dtype=numpy.float32)
    else:
        by_name = isinstance(teacher, str | Path)
        model = models.load(teacher) if by_name else teacher.model
        encoder = load_encoder(teacher) if by_name else teacher.encoder
        model = for_ranking(model).to(computing_on(device))
        logits = score(model, pairs, encoder, precision, progress=progress).logits
    if logits.ndim == 1:
        logits = logits[:, None]
    if logits.ndim != 2 or len(logits) != len(pairs) or logits.shape[1] not in (1, 2):
        raise ValueError(f"teacher: expected logits of {len(pairs)} pairs × 1 or 2 classes, got {logits.shape}")
    if not numpy.isfinite(logits).all():
        row = int(numpy.isfinite(logits).all(axis=1).argmin())
        raise ValueError(f"teacher: expected finite logits, got {logits[row].tolist()} for pair {row}")
    if logits.shape[1] == 1:
        logits = numpy.concatenate([numpy.zeros_like(logits), logits], axis=1)
    return logits


def is_logits(teacher: Teacher) -> bool:
    """Whether a teacher is what it said, and no model."""
    return not isinstance(teacher, str | Path | nn.Module) and not hasattr(teacher, "encoder")
