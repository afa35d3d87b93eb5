"""Where the study lives on disk, and what `params/local.yaml` maps; knows nothing of studies, data or models."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from as2lib import yaml_file


def find_root(start: str | Path | None = None) -> Path:
    """The nearest folder, upwards from `start` (default: the working directory), that holds a `params/` folder.

    Without one it is the folder of the installed sources. `AS2_ROOT` overrides both.
    """
    if "AS2_ROOT" in os.environ:
        return Path(os.environ["AS2_ROOT"]).resolve()
    here = Path(start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "params").is_dir() and (folder / "as2lib").is_dir():
            return folder
    return Path(__file__).resolve().parent.parent


def model_origin(name: str | Path) -> tuple[Path | str, str]:
    """Where an encoder's files are: (its folder, or its hub name; its revision).

    name: a folder, absolute or from the project's root, or a hub name, `name@revision`, which local.yaml may map.
    """
    folder = find_root() / name
    if folder.is_dir():
        return folder, "main"
    hub_name, _, revision = str(name).partition("@")
    return local_folder(hub_name) or hub_name, revision or "main"


def work_folder() -> Path:
    """The git-ignored folder of runs, caches and checkpoints."""
    return find_root() / "work"


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to, renamed in the end: the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@lru_cache(maxsize=8)
def _local_map(path: Path, modified: int) -> dict[str, str]:
    content = yaml_file.read(path, empty=True)
    mapping = content.get("local") or {}
    texts = isinstance(mapping, dict) and all(isinstance(text, str) for pair in mapping.items() for text in pair)
    if set(content) - {"local"} or not texts:
        raise ValueError(f'{path.name}: expected one key "local" that maps hub names to folders, got {content!r:.60}')
    return mapping


def local_folder(hub_name: str) -> Path | None:
    """The local folder that `params/local.yaml` gives for a hub name, or None; relative to the project's root.

    Raises FileNotFoundError where the mapping names a folder that is not there.
    """
    root = find_root()
    mapping = root / "params" / "local.yaml"
    if not mapping.exists():
        return None
    folder = _local_map(mapping, mapping.stat().st_mtime_ns).get(hub_name)
    if folder is None:
        return None
    resolved = (root / Path(folder).expanduser()).resolve()
    if not resolved.exists():
        raise FileNotFoundError(f"params/local.yaml maps {hub_name} to {folder}, which is not there")
    return resolved
