"""What a study passes by its import path, `mypackage.losses:mse`: its source, without importing it; and itself."""

import re
import sys
from hashlib import sha256
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from as2lib.paths import find_root

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_path(text: object) -> bool:
    """Whether a text is written as an import path: a module, a colon, a name."""
    return isinstance(text, str) and _PATH.fullmatch(text) is not None


def source(path: str) -> str:
    """The SHA-256 of the source that defines an object: of its module's file, or of a package's, all of them.

    So the same file is the same source wherever it lies.  Raises ValueError where there is no module with a source.
    """
    file = _file(path)
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    digest = sha256()
    for source_file in files:
        name = source_file.relative_to(file.parent).as_posix()
        digest.update(f"{name} {sha256(source_file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def load(path: str) -> Any:
    """The object itself.  Raises ValueError where its module has none of that name, and as `source`."""
    module, name = path.split(":")
    _file(path)
    loaded = import_module(module)
    if not hasattr(loaded, name):
        raise ValueError(f"{path}: expected {name} in the module {module}, got none of that name")
    return getattr(loaded, name)


def _file(path: str) -> Path:
    """The file of a module, which is looked for where Python does, and in the study's root; nothing is imported."""
    top, *inner = path.split(":")[0].split(".")
    if (root := str(find_root())) not in sys.path:
        sys.path.append(root)
    spec = find_spec(top)
    for name in inner:
        spec = spec and PathFinder.find_spec(name, spec.submodule_search_locations or [])
    file = Path(spec.origin) if spec and spec.origin else Path()
    if file.suffix == ".py" and file.is_file():
        return file
    raise ValueError(f"{path}: expected a module of Python source, installed or in {root}; got none")
