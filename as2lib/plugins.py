"""What a study passes by its import path, `mypackage.losses:mse`: the object itself, and the hash of its source."""

import re
import sys
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from as2lib.paths import file_sha256, find_root


def is_path(text: object) -> bool:
    """Whether a text is written as `module:name`."""
    return isinstance(text, str) and re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", text) is not None


def source(path: str) -> str:
    """The SHA-256 of the source that defines an object: of its module's file, or of all of a package's."""
    load(path)
    file = Path(sys.modules[path.partition(":")[0]].__file__ or "")
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    names = (f"{each.relative_to(file.parent).as_posix()} {file_sha256(each)}\n" for each in files)
    return sha256("".join(names).encode()).hexdigest()


def load(path: str) -> Any:
    """The object itself, of a module that is installed or in the study's root.

    Raises ModuleNotFoundError, and ValueError where its module has none of that name.
    """
    if (root := str(find_root())) not in sys.path:
        sys.path.append(root)
    module_name, _, name = path.partition(":")
    module = import_module(module_name)
    if not hasattr(module, name):
        raise ValueError(f"{path}: expected {name} in the module {module_name}, got none of that name")
    return getattr(module, name)
