"""The state dicts published with the CERBERUS paper, tensor by tensor; knows the student's names, builds no model.

Their keys: `embeddings.*`, `embeddings_project.*` where the embedding size differs,
`cerberus_shared_encoder.layer.N.*`, `cerberus_heads.I.layer.J.*`, `cerberus_heads.I.classifier.{dense,out_proj}.*`,
and a second copy, `core_base_model.*`.
"""

import re
import warnings
from pathlib import Path

import torch
from torch import Tensor

IGNORED = (  # beginnings of names
    "core_base_model.",  # the encoder again
    "embeddings.position_ids",  # constants, which older versions of transformers saved
    "embeddings.token_type_ids",
)


def read(file: str | Path) -> dict[str, Tensor]:
    """The tensors of a released state dict by the student's names; nothing else is ever unpickled.

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
    weights = {student_name(name): value for name, value in content.items() if not name.startswith(IGNORED)}
    if 0 in shape(weights):
        names = "cerberus_shared_encoder.layer.0.* and cerberus_heads.0.*"
        raise ValueError(f"{expected} named {names}, got {next(iter(content), 'none')}")
    return weights


def student_name(name: str) -> str:
    """What the student calls a tensor of a released state dict."""
    name = re.sub(r"^cerberus_heads\.(\d+)\.layer\.", r"heads.\1.encoder.layer.", name)
    name = name.replace("cerberus_heads.", "heads.").replace("cerberus_shared_encoder.", "body.encoder.")
    return name if name.startswith(("heads.", "body.")) else f"body.{name}"


def shape(weights: dict[str, Tensor]) -> tuple[int, int]:
    """(layers that the heads share, heads) of a student's state dict."""
    patterns = (r"body\.encoder\.layer\.(\d+)\.", r"heads\.(\d+)\.")
    body, heads = ({match[1] for name in weights if (match := re.match(pattern, name))} for pattern in patterns)
    return len(body), len(heads)
