"""Where a project lives on disk, what `params/local.yaml` maps, and how files are read and written whole."""

import hashlib
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

PACKAGE = Path(__file__).resolve().parent
PARAMS = PACKAGE / "params"  # the studies that come with the library; in a clone a link


def find_root() -> Path:
    """The root of a project: AS2_ROOT, or the nearest folder upwards that holds `params/*.yaml`, or else this one; but
    of a notebook, which papermill runs in any folder, the clone that this library is of.
    """
    if "AS2_ROOT" in os.environ:
        return Path(os.environ["AS2_ROOT"]).resolve()
    here, clone = Path.cwd(), PACKAGE.parent
    for folder in (here, *here.parents):
        if folder != PACKAGE and any((folder / "params").glob("*.yaml")):
            return folder
    return clone if "ipykernel" in sys.modules and (clone / "notebooks").is_dir() else here


def expanded(name: str | Path) -> Path:
    """The path of a name: `~` is a home where it names one, and otherwise a character."""
    return Path(os.path.expanduser(name))


def work_folder() -> Path:
    """The git-ignored folder of runs, caches and checkpoints."""
    return find_root() / "work"


def model_origin(name: str | Path) -> tuple[Path | str, str]:
    """Where an encoder's files are: (its folder, or its hub name; its revision).

    name: a folder, absolute, from here or from the project's root; or a hub name, `name@revision`, which local.yaml may
    map to a folder.
    """
    for folder in (expanded(name).resolve(), find_root() / name):
        if os.path.isdir(folder):  # of no name too long for a file either
            return folder, "main"
    hub_name, _, revision = str(name).partition("@")
    return local_folder(hub_name) or hub_name, revision or "main"


def local_folder(hub_name: str) -> Path | None:
    """The folder that `params/local.yaml` gives for a hub name, or None; relative to the project's root.

    Raises ValueError where that file is no `local:` map, FileNotFoundError where it names a folder that is not there.
    """
    mapping = find_root() / "params" / "local.yaml"  # the root's, whatever folder a command runs in
    content = read_yaml(mapping) if mapping.exists() else {}
    folders = content.get("local") or {}
    if not isinstance(folders, dict) or {*content} - {"local"} or {*map(type, folders.values())} - {str}:
        raise ValueError(f'{mapping}: expected one key "local" that maps hub names to folders, got {content!r:.60}')
    if hub_name not in folders:
        return None
    resolved = (find_root() / expanded(folders[hub_name])).resolve()
    if not resolved.exists():
        raise FileNotFoundError(f"{mapping}: maps {hub_name} to {folders[hub_name]}, and {resolved} is not there")
    return resolved


class Loader(yaml.SafeLoader):
    """Reads YAML 1.1 in which 1e-3 is a number, too."""


Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), None)


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys of a YAML file that anybody may have written.  Raises ValueError, in one line, for another file."""
    try:
        content = yaml.load(path.read_bytes(), Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: expected YAML, got {' '.join(str(error).split())}") from None
    if not isinstance(content or {}, dict):
        raise ValueError(f"{path}: expected keys and values, such as title: mine, got {content!r:.60}")
    return content or {}


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to, renamed in the end: a file or folder appears whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{threading.get_ident()}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True) if temporary.is_dir() else temporary.unlink(missing_ok=True)


def require_new(path: Path) -> None:
    """Raises, before any work is done, where a folder to be made is there with files in it."""
    if path.exists() and any(path.iterdir()):
        raise ValueError(f"{path}: expected a new folder, got one with files in it; name another")


def lock(name: str, what: str = "", wait: bool = True) -> FileLock:
    """A lock in `work/locks/`, held, which the system releases when its holder ends.

    Where another process holds it a line says that `what` is being made, and this one waits, or raises filelock's
    Timeout.
    """
    held = FileLock(work_folder() / "locks" / f"{name}.lock", mode=0o666, fallback_to_soft=False)
    try:
        held.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise
        print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
        held.acquire()
    return held


def file_sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
