"""Says where pairs come from, and identifies them without loading them; must not import a data or tensor library."""

import hashlib
import importlib
import json
import os
import re
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from as2lib.paths import find_root, local_folder, work_folder

SPLITS = ("train", "dev", "test")
SUFFIXES = ("tsv", "csv", "jsonl", "parquet")
SAMPLES = ("sample", "sample-transfer")
_RACY_SECONDS = 2.0  # a file may change again within one tick of its clock, as git's index documentation explains


@dataclass(frozen=True)
class HubSet:
    """A dataset of the Hugging Face hub, and what it calls our splits."""

    name: str
    config: str | None = None
    revision: str = "main"
    splits: dict[str, str] = field(default_factory=lambda: {"train": "train", "dev": "validation", "test": "test"})


HUB_SETS = {
    "wikiqa": HubSet("microsoft/wiki_qa"),
    "trecqa": HubSet("lucadiliello/trecqa", splits={"train": "train", "dev": "dev_clean", "test": "test_clean"}),
    "asnq": HubSet("lucadiliello/asnq", splits={"train": "train", "dev": "dev", "test": "test"}),
    "selqa": HubSet("community-datasets/selqa", config="answer_selection_experiments"),
}


@dataclass(frozen=True)
class Location:
    """Where one set of pairs is: `kind` says which of the fields are set.

    "files": `files`, read in this order.  "hub": `name`, `config`, `revision`, and the hub's own name of the `split`.
    "sample": `name` of the corpus, `seed`, `split`.
    """

    kind: str
    name: str
    split: str | None = None
    files: tuple[Path, ...] = ()
    config: str | None = None
    revision: str | None = None
    seed: int | None = None


def split_part(part: str) -> tuple[str, str | None]:
    """What a study writes as `source:split`, or `source` for a file without splits, as (source, split)."""
    source, _, split = part.rpartition(":")
    return (source, split) if source else (part, None)


def resolve(source: str | Path, split: str | None = None) -> Location:
    """Where the pairs of a source and split are, without opening them.

    source: a known name, alone or as `name@revision` (`sample@7` is seed 7); a hub name of a known set; any hub set as
        `org/name@revision`; or the path of a file, or of a folder of train, dev and test files.
    split: train, dev or test ("validation" is read as dev); None for a single file.
    Raises ValueError for an unknown name or split, FileNotFoundError for a path that is not there.
    """
    split = "dev" if split == "validation" else split
    name, _, revision = str(source).partition("@")
    if not isinstance(source, Path):
        if name in SAMPLES:
            return _sample(name, revision, split)
        hub = _hub_set(name, revision)
        if hub is not None:
            return _hub_location(hub, name, split)
    return _files(_existing_path(source), split, {})


def identity(source: str | Path, split: str | None = None) -> dict[str, Any]:
    """What decides the content of a source and split, as plain JSON values and without a path.

    The generator's version and seed; or the hub set's name, config, revision and split; or the SHA-256 of the files.
    Raises what `resolve` raises.
    """
    location = resolve(source, split)
    if location.kind == "files":
        files = [{"format": path.suffix[1:].lower(), "sha256": file_sha256(path)} for path in location.files]
        return {"kind": "files", "files": files}
    if location.kind == "hub":
        keys = ("kind", "name", "config", "revision", "split")
        return {key: getattr(location, key) for key in keys}
    version = sample_module().VERSION
    return {"kind": "sample", "name": location.name, "version": version, "seed": location.seed, "split": location.split}


def file_sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, remembered by path, size and time of change in `work/sha256.json`.

    A file changed within the last two seconds is not remembered. Several processes may share the memo: each write
    replaces it whole, so the worst that can happen is that a file is hashed once more.
    Raises FileNotFoundError where there is no such file.
    """
    path = Path(path).resolve()
    status = path.stat()
    memo_path = work_folder() / "sha256.json"
    known = _read_memo(memo_path).get(str(path))
    if isinstance(known, list) and known[:2] == [status.st_size, status.st_mtime_ns] and len(known) == 3:
        return known[2]
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if time.time() - status.st_mtime > _RACY_SECONDS:
        _remember(memo_path, str(path), [status.st_size, status.st_mtime_ns, digest])
    return digest


def sample_module() -> Any:
    """The embedded corpus's generator, imported only when it is asked for."""
    return importlib.import_module("as2lib.data.sample")


def _read_memo(memo_path: Path) -> dict[str, Any]:
    try:
        memo = json.loads(memo_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none yet, or a damaged one: it is only a memo
        return {}
    return memo if isinstance(memo, dict) else {}


def _remember(memo_path: Path, key: str, value: list[Any]) -> None:
    memo_path.parent.mkdir(parents=True, exist_ok=True)
    temporary = memo_path.with_name(f".{memo_path.name}.{uuid.uuid4().hex}")
    memo = {**_read_memo(memo_path), key: value}
    temporary.write_text(json.dumps(memo, indent=0, sort_keys=True), encoding="utf-8")
    os.replace(temporary, memo_path)


def _sample(name: str, seed: str, split: str | None) -> Location:
    if seed and not re.fullmatch(r"\d+", seed):
        raise ValueError(f'{name}@{seed}: expected a whole number, the generator\'s seed, after "@", as in {name}@7')
    _require_split(name, split, SPLITS)
    return Location("sample", name, split=split, seed=int(seed) if seed else sample_module().DEFAULT_SEED)


def _hub_set(name: str, revision: str) -> HubSet | None:
    """The hub set meant by a source, or None where the source is a path."""
    for known, hub in HUB_SETS.items():
        if name in (known, hub.name):
            return HubSet(hub.name, hub.config, revision or hub.revision, hub.splits)
    is_hub_name = re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w.-]+)?", f"{name}@{revision}".rstrip("@")) is not None
    if is_hub_name and (revision or local_folder(name) is not None) and not Path(f"{name}@{revision}").exists():
        return HubSet(name, revision=revision or "main")
    return None


def _hub_location(hub: HubSet, name: str, split: str | None) -> Location:
    known_as = next((known for known, listed in HUB_SETS.items() if listed.name == hub.name), name)
    folder = local_folder(hub.name) or local_folder(known_as)
    if folder is not None:
        return _files(folder, split, hub.splits, hub.config)
    _require_split(name, split, tuple(hub.splits))
    return Location("hub", hub.name, split=hub.splits[split], config=hub.config, revision=hub.revision)


def _require_split(name: str, split: str | None, known: tuple[str, ...]) -> None:
    if split not in known:
        asked = "needs a split" if split is None else f'has no split "{split}"'
        raise ValueError(f"{name} {asked}: expected one of {', '.join(known) or 'none'}")


def _existing_path(source: str | Path) -> Path:
    """The path as given, or else relative to the project's root: notebooks run in a folder of their own."""
    for path in (Path(source).expanduser(), find_root() / Path(source).expanduser()):
        if path.exists():
            return path
    names = ", ".join((*SAMPLES, *HUB_SETS))
    if "/" in str(source) or Path(source).suffix[1:].lower() in SUFFIXES or isinstance(source, Path):
        raise FileNotFoundError(
            f"{source}: no such file or folder; a hub set is written org/name@revision, or mapped to a folder under "
            f'"local:" in params/local.yaml (known names: {names})'
        )
    raise ValueError(f'unknown source "{source}": expected one of {names}; org/name@revision on the hub; or a path')


def _files(path: Path, split: str | None, hub_splits: dict[str, str], config: str | None = None) -> Location:
    if path.is_file():
        if path.suffix[1:].lower() not in SUFFIXES:
            raise ValueError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}, got {path.suffix or 'none'}")
        if split is not None:
            raise ValueError(f'{path} is one file and has no splits, got split "{split}"; leave the split out')
        return Location("files", path.name, files=(path,))
    found = {name: files for name in SPLITS if (files := _split_files(path, name, hub_splits, config))}
    if not found:
        raise ValueError(f"{path}: expected train, dev or test files ({', '.join(SUFFIXES)}) in this folder, got none")
    _require_split(str(path), split, tuple(found))
    name = found[split][0].name if len(found[split]) == 1 else f"{path.name}/{split}"
    return Location("files", name, split=split, files=found[split])


def _split_files(folder: Path, split: str, hub_splits: dict[str, str], config: str | None) -> tuple[Path, ...]:
    """The files of one split: `dev.tsv`, `WikiQA-dev.tsv`, or a hub snapshot's `data/dev-00000-of-00002.parquet`, …"""
    aliases = [hub_splits.get(split, split), split, *(["validation"] if split == "dev" else [])]
    folders = [folder, folder / "data", *([folder / config] if config else [])]
    present = [path for place in folders if place.is_dir() for path in sorted(place.iterdir())]
    for alias in dict.fromkeys(aliases):
        name = re.compile(rf"(WikiQA-)?{re.escape(alias)}(-\d{{5}}-of-\d{{5}})?\.({'|'.join(SUFFIXES)})", re.IGNORECASE)
        files = tuple(path for path in present if name.fullmatch(path.name))
        if files:
            _require_whole(folder, split, files)
            return files
    return ()


def _require_whole(folder: Path, split: str, files: tuple[Path, ...]) -> None:
    """One file, or every shard of one set of shards."""
    shard = re.search(r"-\d{5}-of-(\d{5})(\.\w+)$", files[0].name)
    count, ending = (int(shard[1]), f"-of-{shard[1]}{shard[2]}") if shard else (1, "")
    if len(files) != count or not all(path.name.endswith(ending) for path in files):
        listed = ", ".join(str(path.relative_to(folder)) for path in files)
        raise ValueError(f"{folder}: expected {count} file{'s' * (count > 1)} of the split {split}, got {listed}")
