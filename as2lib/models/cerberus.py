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
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ValueError(f"{expected}, got something else in it")
    released = {name: value for name, value in content.items() if not name.startswith(IGNORED)}
    if 0 in shape(released):
        names = "cerberus_shared_encoder.layer.0.* and cerberus_heads.0.*"
        raise ValueError(f"{expected} named {names}, got {next(iter(released), 'none')}")
    return released


def shape(released: Mapping[str, Tensor]) -> tuple[int, int]:
    """(layers that the heads share, heads) of a released state dict."""
    patterns = (r"cerberus_shared_encoder\.layer\.(\d+)\.", r"cerberus_heads\.(\d+)\.")
    shared, heads = ({match[1] for name in released if (match := re.match(pattern, name))} for pattern in patterns)
    return len(shared), len(heads)


def student_weights(released: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The released tensors under the student's names.  expected: the student's own state dict.

    Raises ValueError, in one line, that names a tensor that is missing, of another shape, or not expected.
    """
    name_of = {released_name(name): name for name in expected}
    expected_shapes = {name: tuple(expected[student_name].shape) for name, student_name in name_of.items()}
    shapes = {name: tuple(value.shape) for name, value in released.items()}
    if different := sorted(expected_shapes.items() ^ shapes.items()):
        name = different[0][0]
        raise ValueError(f"{name}: expected the shape {expected_shapes.get(name)}, got {shapes.get(name)}")
    return {student_name: released[name] for name, student_name in name_of.items()}


def released_name(name: str) -> str:
    """What a released state dict calls a tensor of the student: `heads.0.encoder.layer.0.…` is `cerberus_heads.0.…`."""
    for pattern, replacement in RENAMED:
        released, changed = re.subn(pattern, replacement, name)
        if changed:
            return released
    raise ValueError(f"expected a tensor of a body or of heads, got {name}")
