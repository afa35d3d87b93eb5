"""What a study passes by its import path, `mypackage.losses:mse`: the object itself, and the hash of its source."""

import re
import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from as2lib.paths import file_sha256, find_root

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_path(text: object) -> bool:
    """Whether a text is written as `module:name`."""
    return isinstance(text, str) and _PATH.fullmatch(text) is not None


def source(path: str) -> str:
    """The SHA-256 of the source that defines an object: of its module's file, or of all of a package's."""
    file = Path(_module(path).__file__ or "")
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    names = (f"{each.relative_to(file.parent).as_posix()} {file_sha256(each)}\n" for each in files)
    return sha256("".join(names).encode()).hexdigest()


def load(path: str) -> Any:
    """The object itself.  Raises ModuleNotFoundError, and ValueError where its module has none of that name."""
    module, name = _module(path), path.partition(":")[2]
    if not hasattr(module, name):
        raise ValueError(f"{path}: expected {name} in the module {module.__name__}, got none of that name")
    return getattr(module, name)


def _module(path: str) -> ModuleType:
    """A module, also of the study's root."""
    if (root := str(find_root())) not in sys.path:
        sys.path.append(root)
    return import_module(path.partition(":")[0])
