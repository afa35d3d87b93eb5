"""Says where pairs come from, and identifies them without loading them; must not import a data or tensor library."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from as2lib import imported
from as2lib.data import sample
from as2lib.intact import file_sha256
from as2lib.paths import find_root, local_folder

SPLITS = ("train", "dev", "test")
SUFFIXES = ("tsv", "csv", "jsonl", "parquet")
SAMPLES = {**{name: tuple(mix.questions) for name, mix in sorted(sample.MIXES.items())}, sample.UNLABELLED: SPLITS[:1]}


@dataclass(frozen=True)
class HubSet:
    """A dataset of the Hugging Face hub, and what it calls our train, dev and test; or a private one, on no hub."""

    name: str
    config: str | None = None
    splits: tuple[str, str, str] = ("train", "validation", "test")
    public: bool = True


HUB_SETS = {
    "wikiqa": HubSet("microsoft/wiki_qa"),
    "trecqa": HubSet("lucadiliello/trecqa", splits=("train", "dev_clean", "test_clean")),
    "asnq": HubSet("lucadiliello/asnq", splits=SPLITS),
    "selqa": HubSet("community-datasets/selqa", config="answer_selection_experiments"),
    "ias2": HubSet("ias2", splits=SPLITS, public=False),  # the papers' own: bring your own file
    "gpd": HubSet("gpd", splits=SPLITS, public=False),
}
SHORT = {name: short for short, hub in HUB_SETS.items() for name in (short, hub.name)}  # either name → ours
# Known content: the fingerprint of all pairs of a split (`pairs.fingerprint`), the same on the hub and in mapped files.
FINGERPRINTS = {
    ("wikiqa", "train"): "31da1ad51f1c3e4e938dc4359c5990667b4e10486a3f12536a9f752811aaea29",
    ("wikiqa", "dev"): "18607f1160ac9b754555a3be3412c7a350274fa98cfc1cfbd0204579a854c88b",
    ("wikiqa", "test"): "c16ccc0ca72b8ed785fdfb69c94fdefefc3220c76c737630cdae8c5700b4fc18",
    ("trecqa", "train"): "4b14ace7f15db882d7f9640677858aca2d1a97235830f64072da6e45bcfb5626",  # TRAIN, not TRAIN-ALL
    ("trecqa", "dev"): "8110b931c702fa05f598d8cdac14c6dbcd64ac6ac05ca91a9dd4f0ed9470222c",
    ("trecqa", "test"): "69b0382e4d1f3fdfc5a836b4a13e8219b76869340412816658aea57cbc040ce9",
    ("selqa", "dev"): "aeb7e81f3807c3a62505620e5837a5d66a57d9525638447b8308c777a3928b50",
    ("selqa", "test"): "fa943acbc5a90ce707b51c18933c507eecaaa3590cf4974eb2bd8bac8159817f",
}
# Made by `data.builders` from these hub sets, or from local files in their original formats.
BUILT = {"squad-sent": "rajpurkar/squad_v2", "nq-la": "google-research-datasets/natural_questions"}
BUILT_VERSION = 1  # raise it when the same originals would give other pairs
LISTS = {"dev": "unique.dev", "test": "unique.test"}  # they halve ASNQ's original dev.tsv, one question a line
PLAIN = HubSet("", splits=SPLITS)  # a folder that is no hub set


class NoSplit(ValueError):
    """Raised where a source is there, but not the split that is asked for."""


class NotHere(FileNotFoundError):
    """Raised where a set's name is known, but its texts are neither on this machine nor to be had from the hub."""


class Only(NamedTuple):
    """Which questions of a split are kept: those with at least `candidates`; those without a correct one."""

    candidates: int = 0
    unanswered: bool = False

    def said(self) -> dict[str, int]:
        return {name: value for name, value in self._asdict().items() if value}


ALL = Only()


@dataclass(frozen=True)
class Location:
    """Where one set of pairs is: `kind` says which of the fields are set.

    "files": `files`, read in this order; `lists` where they split ASNQ's original dev file by `split`.
    "hub": `name`, `config`, `revision`, and the hub's own name of the `split`.
    "sample": `name` of the corpus, `seed`, `split`.
    "own": `name`, the import path of a function of the `split` that returns rows.
    "built": `name` of the set, `split`, and the original `files`, or the `revision` of the hub set it is made from.
    `builder` is the set whose original files, or records, `data.builders` makes pairs of; None for pairs as they are.
    `only`: which of its questions are kept, as a split may say; all where it says nothing.
    """

    kind: str
    name: str
    split: str | None = None
    files: tuple[Path, ...] = ()
    lists: tuple[Path, ...] = ()
    config: str | None = None
    revision: str | None = None
    seed: int | None = None
    builder: str | None = None
    only: Only = ALL


def split_part(part: str) -> tuple[str, str | None]:
    """What a study writes as `source:split`, or `source` for a file without splits, as (source, split)."""
    source, _, split = part.rpartition(":")
    return (source, split) if source else (part, None)


def with_only(split: str | None) -> tuple[str | None, Only]:
    """Our name of a split as it may be written ("validation" is dev), and which of its questions that keeps.

    `test>=15`: those of 15 candidates or more; `train=unanswered`: those of which no candidate is correct.
    """
    found = re.fullmatch(r"(.*?)(?:>=([0-9]+)|=(unanswered))", split or "")
    split, only = (found[1], Only(int(found[2] or 0), bool(found[3]))) if found else (split, ALL)
    return "dev" if split == "validation" else split, only


def canonical(part: str) -> str:
    """One way to write a part, whichever of its names was used: to tell whether two share questions."""
    source, split = split_part(part)
    split, _ = with_only(split)
    path = find_root() / Path(source).expanduser()
    called = str(path.resolve()) if path.exists() else SHORT.get(source, source)
    return f"{called}:{split}" if split else called


def resolve(source: str | Path, split: str | None = None) -> Location:
    """Where the pairs of a source and split are, without reading them.

    source: a known name, alone or as `name@revision` (`sample@7` is seed 7); a hub name of a known set; any hub set as
        `org/name@revision`; `package.module:function` of one's own; or the path of
        a file, or of a folder of train, dev and test files.
    split: train, dev or test ("validation" is read as dev), some of its questions as `with_only` has it; None for a
        single file.
    Raises ValueError for an unknown name or split, FileNotFoundError for a path or a private set that is not there.
    """
    split, only = with_only(split)
    if any(only):
        return replace(resolve(source, split), only=only)
    if isinstance(source, Path):  # never a name
        return _files(_existing_path(source), split)
    name, _, revision = source.partition("@")
    if name in SAMPLES:
        if not re.fullmatch(r"\d*", revision):
            raise ValueError(f'{source}: expected a whole number, the generator\'s seed, after "@", as in {name}@7')
        _require_split(name, split, SAMPLES[name])
        return Location("sample", name, split=split, seed=int(revision or sample.DEFAULT_SEED))
    if name in BUILT:
        _require_split(name, split, SPLITS)
        return _built(name, split, revision)
    if imported.is_path(source):
        _require_split(source, split, SPLITS)
        return Location("own", source, split=split)
    known = SHORT.get(name)
    hub = HUB_SETS.get(known, HubSet(name))
    if folder := local_folder(hub.name) or (known and local_folder(known)):
        return _files(folder, split, hub)
    if not hub.public:
        raise NotHere(
            f"{name} is not public: bring your own files (question_id, question, answer, label) and add "
            f'"{name}: that/folder" under "local:" in params/local.yaml'
        )
    if known or (re.fullmatch(r"[\w.-]+/[\w.-]+", name) and revision and not Path(source).exists()):
        _require_split(name, split, SPLITS)
        theirs = hub.splits[SPLITS.index(split)]
        return Location("hub", hub.name, split=theirs, config=hub.config, revision=revision or "main")
    return _files(_existing_path(source), split)


def identity(source: str | Path, split: str | None = None) -> dict[str, Any]:
    """What decides the content of a source and split: of known pairs their name and fingerprint, else `content`.

    So a hub user, a mapped folder and a machine without the data agree.  Raises what `resolve` raises.
    """
    return known(source, split) or content(resolve(source, split))


def known(source: str | Path, split: str | None = None) -> dict[str, Any] | None:
    """Name, split and the fingerprint of all pairs of a known set without a revision; None for any other."""
    short, (split, only) = SHORT.get(source), with_only(split)
    if pairs := FINGERPRINTS.get((short, split)):
        return {"kind": "known", "name": short, "split": split, "pairs": pairs} | only.said()
    return None


def content(found: Location) -> dict[str, Any]:
    """What decides the content of a location, as plain JSON values and without a path.

    The generator's version and seed; or the hub set's name, config, revision and split; or the SHA-256 of the files.
    """
    return _content(found) | found.only.said()


def _content(found: Location) -> dict[str, Any]:
    if found.kind == "built":
        built = {"kind": "built", "name": found.name, "version": BUILT_VERSION, "split": found.split}
        files = [file_sha256(path) for path in found.files]
        return built | ({"files": files} if files else {"revision": found.revision})
    if found.kind == "files":
        paths = (*found.files, *found.lists)
        files = [{"format": path.suffix[1:].lower(), "sha256": file_sha256(path)} for path in paths]
        return {"kind": "files", "files": files} | ({"split": found.split} if found.lists else {})
    named = {"kind": found.kind, "name": found.name, "split": found.split}
    if found.kind == "own":
        return named | {"source": imported.source(found.name)}
    if found.kind == "hub":
        return named | {"config": found.config, "revision": found.revision}
    return named | {"version": sample.VERSION, "seed": found.seed}


@contextmanager
def hub_reached(name: str, split: str, revision: str) -> Iterator[None]:
    """Says how to do without the hub where loading from it fails: no network; no such set, revision or split.

    Where the hub does not answer, only what it gave before is looked for: a request would be tried for half a minute.
    """
    from unittest.mock import patch

    try:
        with nullcontext() if hub_answers() else patch("huggingface_hub.constants.HF_HUB_OFFLINE", True):
            yield
    except (OSError, ValueError, RuntimeError) as error:
        problem = str(error).partition("\n")[0]
        raise NotHere(
            f"can't load {name} (revision {revision}, split {split}) from the hub: {problem}; without a network, copy "
            f'the set to a folder and add "{name}: that/folder" under "local:" in params/local.yaml'
        ) from None


@cache
def hub_answers() -> bool:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except Exception:  # offline mode, no name, no route, a refusing proxy: each client has errors of its own
        return False
    return True


def _require_split(name: str, split: str | None, known: tuple[str, ...]) -> None:
    if split not in known:
        asked = "needs a split" if split is None else f'has no split "{split}"'
        raise NoSplit(f"{name} {asked}: expected one of {', '.join(known)}")


def _existing_path(source: str | Path) -> Path:
    """The path as given, or else relative to the project's root: notebooks run in a folder of their own."""
    path = Path(source).expanduser()
    if found := next(filter(Path.exists, (path, find_root() / path)), None):
        return found
    names = ", ".join((*SAMPLES, *HUB_SETS, *BUILT))
    if isinstance(source, Path) or "/" in source or path.suffix[1:].lower() in SUFFIXES:
        raise FileNotFoundError(
            f"{source}: no such file or folder; a hub set is written org/name@revision, or mapped to a folder under "
            f'"local:" in params/local.yaml (known names: {names})'
        )
    raise ValueError(f'unknown source "{source}": expected one of {names}; org/name@revision on the hub; or a path')


def _built(name: str, split: str, revision: str) -> Location:
    if not (folder := local_folder(name) or local_folder(BUILT[name])):
        return Location("built", name, split=split, revision=revision or "main", builder=name)
    wanted = r"dev|validation" if split == "test" else "train"
    pattern = rf"(?i).*({wanted}).*\.(json|jsonl|parquet)(\.gz)?"
    files = tuple(path for path in sorted(folder.rglob("*")) if path.is_file() and re.fullmatch(pattern, path.name))
    if not files:
        raise FileNotFoundError(f"{folder}: expected the original files of {BUILT[name]} ({wanted}), got none")
    return Location("built", name, split=split, files=files, builder=name)


def _files(path: Path, split: str | None, hub: HubSet = PLAIN) -> Location:
    if path.is_file():
        if path.suffix[1:].lower() not in SUFFIXES:
            raise ValueError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}, got {path.suffix or 'none'}")
        if split is not None:
            raise NoSplit(f'{path} is one file and has no splits, got split "{split}"; leave the split out')
        return Location("files", path.name, files=(path,), builder=_asnq(path))
    found = {name: files for name in SPLITS if (files := _split_files(path, name, hub))}
    halved = "test" not in found and split in LISTS and "dev" in found and _asnq(found["dev"][0])
    if halved:
        found["test"] = found["dev"]
    if not found:
        raise ValueError(f"{path}: expected train, dev or test files ({', '.join(SUFFIXES)}) in this folder, got none")
    _require_split(str(path), split, tuple(found))
    files, lists = found[split], tuple(path / name for name in LISTS.values() if halved)
    if missing := [name.name for name in lists if not name.is_file()]:
        raise FileNotFoundError(
            f"{path}: dev.tsv is ASNQ's original one, which the lists {' and '.join(LISTS.values())} split into dev "
            f"and test (one question a line, published with the Cascade Transformer); missing: {', '.join(missing)}"
        )
    return Location("files", files[0].name, split=split, files=files, lists=lists, builder=_asnq(files[0]))


def _asnq(path: Path) -> str | None:
    """Which builder reads a file: ASNQ's where its first row is two texts and a number, as no header is."""
    if path.suffix.lower() != ".tsv":
        return None
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        return "asnq" if re.fullmatch(r"[^\t]+\t[^\t]+\t\d+\r?\n?", stream.readline(1 << 20)) else None


def _split_files(folder: Path, split: str, hub: HubSet) -> tuple[Path, ...]:
    """The files of one split: `dev.tsv`, `WikiQA-dev.tsv`, or a hub snapshot's `data/dev-00000-of-00002.parquet`, …"""
    places = (folder, folder / "data", *([folder / hub.config] if hub.config else []))
    present = [path for place in places for path in sorted(place.glob("*"))]
    for alias in (hub.splits[SPLITS.index(split)], split, *(["validation"] if split == "dev" else [])):
        name = rf"(?i)(WikiQA-)?{re.escape(alias)}(-\d{{5}}-of-\d{{5}})?\.({'|'.join(SUFFIXES)})"
        files = tuple(path for path in present if re.fullmatch(name, path.name))
        if len({re.sub(r"-\d{5}(-of-\d{5}\.)", r"\1", str(path)) for path in files}) > 1:  # beyond shards of one set
            listed = ", ".join(str(path.relative_to(folder)) for path in files)
            raise ValueError(f"{folder}: expected 1 file of the split {split}, got {listed}")
        if files:
            return files
    return ()
