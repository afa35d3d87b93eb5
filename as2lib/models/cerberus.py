"""The state dicts published with the CERBERUS paper, tensor by tensor; knows the student's names, builds no model.

Their keys: `embeddings.*`, `embeddings_project.*` where the embedding size differs,
`cerberus_shared_encoder.layer.N.*`, `cerberus_heads.I.layer.J.*`, `cerberus_heads.I.classifier.{dense,out_proj}.*`,
and a second copy, `core_base_model.*`.
"""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

BACKBONES = ("electra", "roberta")  # whose classifiers have `dense` and `out_proj`
IGNORED = (  # beginnings of names
    "core_base_model.",  # the encoder again
    "embeddings.position_ids",  # constants, which older versions of transformers saved
    "embeddings.token_type_ids",
)
RENAMED = (  # ours → theirs; the first that fits
    (r"^body\.encoder\.", "cerberus_shared_encoder."),
    (r"^body\.", ""),
    (r"^heads\.(\d+)\.(encoder\.)?", r"cerberus_heads.\1."),
)


def read(file: str | Path) -> dict[str, Tensor]:
    """The tensors of a released state dict by their names, without what is ignored; nothing else is ever unpickled.

    Raises FileNotFoundError, and ValueError, which names the file, where it holds anything else.
    """
    expected = f"{file}: expected a state dict of tensors"
    try:
        with warnings.catch_warnings(action="ignore"):  # about pickles that are none
            content = torch.load(file, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise
    except Exception:  # of any kind: a reader of pickles obeys the bytes of what is none
        raise ValueError(f"{expected}, got something that torch.load(weights_only=True) refuses") from None
    if not isinstance(content, dict):
        raise ValueError(f"{expected}, got {type(content).__name__}")
    for name, value in content.items():
        if not (isinstance(name, str) and isinstance(value, Tensor)):
            raise ValueError(f"{expected}, got {type(value).__name__} under {name!r}")
    released = {name: value for name, value in content.items() if not name.startswith(IGNORED)}
    try:
        shape(released)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return released


def shape(released: Mapping[str, Tensor]) -> tuple[int, int]:
    """(layers that the heads share, heads) of a released state dict; ValueError where it has none of one."""
    counts = []
    for pattern in (r"cerberus_shared_encoder\.layer\.(\d+)\.", r"cerberus_heads\.(\d+)\."):
        numbers = {match[1] for name in released if (match := re.match(pattern, name))}
        if not numbers:
            example, first = pattern.replace("\\", "").replace("(d+)", "0"), next(iter(released), "no tensor")
            raise ValueError(f"expected tensors named {example}*, got {first}")
        counts.append(len(numbers))
    return counts[0], counts[1]


def student_weights(released: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The released tensors under the student's names.  expected: the student's own state dict.

    Raises ValueError, in one line, that names the first tensor that is missing, of another shape, or not expected.
    """
    wanted = {released_name(name): (name, tuple(value.shape)) for name, value in expected.items()}
    shapes = {name: tuple(value.shape) for name, value in released.items()}
    wrong = [name for name, (_, size) in wanted.items() if shapes.get(name) != size]
    wrong += [name for name in shapes if name not in wanted]
    if wrong:
        name, more = wrong[0], f" (and {len(wrong) - 1} more tensors differ)" if len(wrong) > 1 else ""
        size = f"shape {wanted[name][1]}" if name in wanted else "no such tensor"
        came = f"shape {shapes[name]}" if name in shapes else "no such tensor"
        raise ValueError(f"{name}: expected {size}, got {came}{more}")
    return {ours: released[theirs] for theirs, (ours, _) in wanted.items()}


def released_name(name: str) -> str:
    """What a released state dict calls a tensor of the student: `heads.0.encoder.layer.0.…` is `cerberus_heads.0.…`."""
    for pattern, replacement in RENAMED:
        theirs, changed = re.subn(pattern, replacement, name)
        if changed:
            return theirs
    raise ValueError(f"expected a tensor of a body or of heads, got {name}")
