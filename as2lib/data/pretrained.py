"""What lies in a model's folder or on the hub, and how it is opened: without ever running code that lies there."""

import hashlib
import re
from pathlib import Path
from typing import Any

from as2lib import hub
from as2lib.data.sets import loadable
from as2lib.paths import file_sha256, model_origin

EXPORTED = "export.json"  # in a folder that `as2lib.export` wrote: what it is


def open_pretrained(auto: Any, name: str | Path, **options: Any) -> Any:
    """`auto.from_pretrained` of a folder or a hub name, the one place of the library that calls it.

    Raises ValueError, in one line that names the folder, for whatever can't be opened: also where a folder brings
    Python of its own, about which transformers would ask on standard input.
    """
    origin, revision = loadable(name)
    try:
        return auto.from_pretrained(origin, revision=revision, trust_remote_code=False, **options)
    except Exception as error:  # of any kind: libraries parse what is there
        line = str(error).strip().partition("\n")[0]
        if "trust_remote_code" in str(error):
            line = "expected a model that transformers has, got Python of its own (auto_map), which is never run"
        raise ValueError(f"{origin}: can't be loaded: {line}") from None


def require_at_hand(name: str | Path) -> None:
    """Raises FileNotFoundError where a model is no folder here, is in no cache, and can't come from the hub."""
    origin, revision = model_origin(name)
    if Path(origin).is_dir():
        return
    if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", str(origin)):
        raise FileNotFoundError(f"{name}: no folder of that name, and no name that the hub could have")
    if why := hub.why_not(str(origin), revision):
        raise FileNotFoundError(f"{name}: no folder of that name, {why}")


def is_exported(name: str | Path) -> bool:
    return (Path(model_origin(name)[0]) / EXPORTED).exists()


def content(name: str | Path) -> str:
    """What a model is, whatever its name: the SHA-256 of its folder's files, or the commit of a hub name."""
    from transformers.utils import cached_file

    origin, revision = loadable(name)
    if not Path(origin).is_dir():
        return Path(cached_file(origin, "config.json", revision=revision)).parent.name
    digest = hashlib.sha256()
    for path in sorted(path for path in Path(origin).iterdir() if path.is_file()):
        digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()
