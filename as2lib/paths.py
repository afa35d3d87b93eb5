"""Where a project lives on disk, what `params/local.yaml` maps, and how files are read and written whole."""

import hashlib
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

PACKAGE = Path(__file__).resolve().parent
EXPONENT_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")


def find_root() -> Path:
    """The root of a project: AS2_ROOT, or the nearest folder upwards that holds `params/*.yaml`, or else this one."""
    if "AS2_ROOT" in os.environ:
        return Path(os.environ["AS2_ROOT"]).resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if folder != PACKAGE and any((folder / "params").glob("*.yaml")):
            return folder
    return here


def params_folder() -> Path:
    """The studies that come with the library: a link in a clone, and beside it where links are plain files."""
    folder = PACKAGE / "params"
    return folder if folder.is_dir() else PACKAGE.parent / "params"


def settle_notebook() -> None:
    """Let a notebook that papermill runs outside a project belong to the clone that this library is of, by AS2_ROOT."""
    if any((find_root() / "params").glob("*.yaml")):
        return
    clone = PACKAGE.parent
    if not (clone / "notebooks").is_dir():
        expected = "expected a project, a folder with params/*.yaml, here or above, got none; AS2_ROOT=FOLDER names one"
        raise FileNotFoundError(f"{Path.cwd()}: {expected}")
    os.environ["AS2_ROOT"] = str(clone)


def expanded(name: str | Path) -> Path:
    """The path of a name: `~` is a home where it names one, and otherwise a character."""
    return Path(os.path.expanduser(name))


def work_folder() -> Path:
    """The git-ignored folder of runs, caches and checkpoints."""
    return find_root() / "work"


def model_origin(name: str | Path) -> tuple[Path | str, str]:
    """Where an encoder's files are: (its folder, or its hub name; its revision).

    name: a folder, absolute, from the project's root or from here; or a hub name, `name@revision`, which local.yaml may
    map to a folder.
    """
    for folder in (find_root() / name, expanded(name).resolve()):
        if os.path.isdir(folder):  # of no name too long for a file either
            return folder, "main"
    hub_name, _, revision = str(name).partition("@")
    return local_folder(hub_name) or hub_name, revision or "main"


def local_file() -> Path:
    """The file that maps names to folders of this machine: the root's, whatever folder a command runs in."""
    return find_root() / "params" / "local.yaml"


def local_folder(hub_name: str) -> Path | None:
    """The folder that `params/local.yaml` gives for a hub name, or None; relative to the project's root.

    Raises ValueError where that file is no `local:` map, FileNotFoundError where it names a folder that is not there.
    """
    mapping = local_file()
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


def file_at(name: str) -> Path:
    """The place of a file: from the project's root, or in the folder that local.yaml has for the hub name before it."""
    owner, _, rest = name.partition("/")
    repository, _, file = rest.partition("/")
    folder = local_folder(f"{owner}/{repository}") if file else None
    return folder / file if folder else find_root() / name


def read_yaml(path: Path) -> dict[str, Any]:
    """The keys of a YAML file that anybody may have written.  Raises ValueError, in one line, for another file."""
    try:
        content = with_numbers(yaml.safe_load(path.read_bytes()))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: expected YAML, got {' '.join(str(error).split())}") from None
    if not isinstance(content or {}, dict):
        raise ValueError(f"{path}: expected keys and values, such as title: mine, got {content!r:.60}")
    return content or {}


def with_numbers(value: Any) -> Any:
    """What YAML has, with numbers such as 1e-3, which are text in YAML 1.1."""
    if isinstance(value, dict):
        return {key: with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and EXPONENT_NUMBER.fullmatch(value) else value


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to, renamed in the end: the file appears whole or not at all."""
    path = expanded(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{threading.get_ident()}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True) if temporary.is_dir() else temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """The same for a folder."""
    with whole_file(expanded(path).resolve()) as temporary:
        temporary.mkdir()
        yield temporary


def require_new(path: Path) -> None:
    """Raises, before any work is done, where a folder to be made is there with files in it."""
    if path.exists() and any(path.iterdir()):
        raise ValueError(f"{path}: expected a new folder, got one with files in it; name another")


def lock(name: str, what: str = "", wait: bool = True) -> FileLock:
    """A lock in `work/locks/`, held, which the system releases when its holder ends.

    Where another process holds it a line says that `what` is being made, and this one waits, or raises filelock's
    Timeout.
    """
    path = work_folder() / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(path, mode=0o666, fallback_to_soft=False)
    try:
        held.acquire(blocking=False)
    except Timeout:
        if not wait:
            raise
        print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
        held.acquire()
    return held


def file_sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes; a process reads a file again only where its size or time changed."""
    status = os.stat(path)
    return _sha256(os.path.abspath(path), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _sha256(path: str, size: int, modified: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
