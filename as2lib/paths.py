"""Where the study lives on disk, and what `params/local.yaml` maps; knows nothing of studies, data or models."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from as2lib import yaml_file

SHIPPED = Path(__file__).parent / "params"


def find_root(start: str | Path | None = None) -> Path:
    """The nearest folder, upwards from `start` (default: the working directory), that holds a `params/` folder.

    Without one it is the clone whose sources these are, or where they are installed, the folder to start from.
    `AS2_ROOT` overrides all.
    """
    if "AS2_ROOT" in os.environ:
        return Path(os.environ["AS2_ROOT"]).resolve()
    here = Path(start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "params").is_dir() and (folder / "as2lib").is_dir():
            return folder
    sources = Path(__file__).resolve().parent.parent
    return sources if (sources / "params").is_dir() else here


def params_file(name: str) -> Path:
    """A file of `params/` by its name: the root's, or else the one that comes with the library."""
    own = find_root() / "params" / name
    return own if own.exists() else SHIPPED / name


def known_studies() -> list[str]:
    """The names of the studies in the root's `params/`; where it has none, of those that come with the library."""
    own, shipped = ([path.stem for path in folder.glob("*.yaml")] for folder in (find_root() / "params", SHIPPED))
    return sorted({*(own or shipped)} - {"local"})


def model_origin(name: str | Path) -> tuple[Path | str, str]:
    """Where an encoder's files are: (its folder, or its hub name; its revision).

    name: a folder, absolute, from the project's root or from here; or a hub name, `name@revision`, which local.yaml may
    map.
    """
    for folder in (find_root() / name, Path(name).expanduser().resolve()):
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
