"""Says where pairs come from, and identifies them without loading them or importing a data library."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from as2lib.paths import expanded, file_sha256, find_root, local_folder

COLUMNS = ("question_id", "question", "answer", "label")
SPLITS = ("train", "dev", "test")
SUFFIXES = ("tsv", "csv", "jsonl", "parquet")


@dataclass(frozen=True)
class HubSet:
    """A dataset of the Hugging Face hub; one without an owner is private, on no hub."""

    name: str
    config: str | None = None
    splits: tuple[str, str, str] = ("train", "validation", "test")  # what it calls our train, dev and test
    ordered: bool = True  # whether the order of candidates means something; else it is `pairs.label_blind_order`


HUB_SETS = {
    "wikiqa": HubSet("microsoft/wiki_qa"),
    # Each question's correct candidates come first in TREC-QA: its order alone has MAP 100.
    "trecqa": HubSet("lucadiliello/trecqa", splits=("train", "dev_clean", "test_clean"), ordered=False),
    "asnq": HubSet("lucadiliello/asnq", splits=SPLITS),
    # SelQA's order says little: it alone has MAP 41.5 on test, where chance has 30.4.
    "selqa": HubSet("community-datasets/selqa", config="answer_selection_experiments", ordered=False),
    "ias2": HubSet("ias2", splits=SPLITS),  # the papers' own: bring your own file
    "gpd": HubSet("gpd", splits=SPLITS),
}
SHORT = {name: short for short, hub in HUB_SETS.items() for name in (short, hub.name)}  # either name → ours
# `pairs.fingerprint` of all pairs of a split, the same on the hub and in mapped files.
FINGERPRINTS = {
    ("wikiqa", "train"): "31da1ad51f1c3e4e938dc4359c5990667b4e10486a3f12536a9f752811aaea29",
    ("wikiqa", "dev"): "18607f1160ac9b754555a3be3412c7a350274fa98cfc1cfbd0204579a854c88b",
    ("wikiqa", "test"): "c16ccc0ca72b8ed785fdfb69c94fdefefc3220c76c737630cdae8c5700b4fc18",
    ("trecqa", "train"): "ee5dd3bbaef851ae4fe990ae2620916f4204870f39beb01119ebf675bd871d97",  # TRAIN, not TRAIN-ALL
    ("trecqa", "dev"): "72464019478075b5c22c360372c51c0b845500d3e02e2eb2c1db0a6077a8cec0",
    ("trecqa", "test"): "ac92f20857c9f7c9e672123c618c1a9efa94802b4d818758531beb3d8ee1a938",
    ("selqa", "dev"): "d77bc99c2a15432375ae0de8e03f8b6ff6b94dee493e5d345cbd2139a89d0c2c",
    ("selqa", "test"): "8cb4f68b513ccc9e845a89d88e8b7d058ef2b636de201cf7a0b12997bc8a7947",
}


# The corpora that the package ships, questions about made-up places written by `tools/make_sample.py`: name → splits.
SAMPLES = {"sample": SPLITS, "sample-transfer": SPLITS, "sample-wide": SPLITS[1:], "sample-unlabelled": SPLITS[:1]}
SAMPLE = {"version": 1, "seed": 7}  # of these, as identities have them


class NoSplit(ValueError):
    """Raised where a source is there, but not the split that is asked for."""


APART = "=apart("
CONDITION = re.compile(
    r">=(?P<candidates>[0-9]+)|=(?P<answered>answered)|=(?P<unanswered>unanswered)"
    r"|=first(?P<first>[1-9][0-9]?)%|=last(?P<last>[1-9][0-9]?)%"
)


@dataclass(frozen=True)
class Location:
    """Where one set of pairs is."""

    kind: str  # "files", "hub" or "sample"
    name: str
    split: str | None = None
    files: tuple[Path, ...] = ()  # read in this order
    revision: str | None = None
    hub: HubSet = HubSet("", splits=SPLITS)  # that it is, or would be; or a folder of our own names
    only: Mapping[str, Any] = field(default_factory=dict)  # which of its questions are kept, as `with_only` has it

    @property
    def hub_split(self) -> str:
        return self.hub.splits[SPLITS.index(self.split)]


@cache
def note(line: str) -> None:
    """Say a line once in a process."""
    print(f"as2: {line}", file=sys.stderr, flush=True)


def is_watched() -> bool:
    """Whether a person may look at what is said: on a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()


def split_part(part: str) -> tuple[str, str | None]:
    """What a study writes as `source:split`, or `source` for a file without splits, as (source, split)."""
    named, apart, others = part.partition(APART)
    source, _, split = named.rpartition(":")
    return (source or named, (split if source else "") + apart + others or None)


def apart_from(part: str, others: Sequence[str]) -> str:
    """A part without the questions whose correct sentence, or whole list of candidates, others have too."""
    return part if APART in part else f"{part}{APART}{', '.join(others)})"


def with_only(split: str | None) -> tuple[str | None, dict[str, Any]]:
    """Our name of a split ("validation" is dev), and the conditions on its questions that are written behind it.

    `test>=15`: candidates, at least so many; `test=answered`, `train=unanswered`: with and without a correct one;
    `train=first80%`, `train=last20%`: so many percent, in the set's order; `dev=last20%>=15`: both;
    `test=apart(mine:train, other:train)`: what `apart_from` writes.
    """
    name, _, others = (split or "").partition(APART)
    only: dict[str, Any] = {}
    for match in CONDITION.finditer(name):
        key = match.lastgroup
        if key in only or {key, *only} >= {"first", "last"}:
            raise NoSplit(f"{split}: expected each condition on a split's questions once")
        only[key] = True if key.endswith("answered") else int(match[key])
    if others:
        only["apart"] = tuple(others.removesuffix(")").split(", "))
    name = CONDITION.sub("", name)
    return "dev" if name == "validation" else name or None, only


def order_means_something(part: str) -> bool:
    """Whether a ranker may read the order of a part's candidates: yes, but for known sets that say otherwise."""
    short = SHORT.get(split_part(part)[0].partition("@")[0])
    return short is None or HUB_SETS[short].ordered


def resolve(source: str | Path, split: str | None = None) -> Location:
    """Where the pairs of a source and split are, without reading them.

    source: a known name, of the hub's alone or as `name@revision`; the path of a file, or of a folder of train, dev and
        test files (`./sample` where a known set has its name); or any hub set as `org/name@revision`.
    split: train, dev or test, some of its questions as `with_only` has it; None for a single file.
    Raises ValueError for an unknown split, FileNotFoundError for a source that is not there.
    """
    split, only = with_only(split)
    if only:
        return replace(resolve(source, split), only=only)
    if path := on_disk(source):
        return _files(path, split)
    name, _, revision = str(source).partition("@")
    if source in SAMPLES:
        _require_split(name, split, SAMPLES[name])
        return Location("sample", name, split=split)
    known = SHORT.get(name)
    hub = HUB_SETS.get(known, HubSet(name))
    if folder := local_folder(hub.name) or (known and local_folder(known)):
        return _files(folder, split, hub)
    is_named = isinstance(source, str) and (known or revision)  # a path is never a name
    if not (is_named and re.fullmatch(r"[\w.-]+/[\w.-]+", hub.name)):
        sets = f"{', '.join((*SAMPLES, *HUB_SETS))}, or a hub set as org/name@revision"
        where = f'what is on no hub is mapped to a folder under "local:" in {find_root()}/params/local.yaml'
        raise FileNotFoundError(f"{source}: expected a file, a folder, or a set: {sets}; {where}")
    _require_split(name, split, SPLITS)
    return Location("hub", hub.name, split, revision=revision or "main", hub=hub)


def identity(source: str | Path, split: str | None = None) -> dict[str, Any]:
    """What decides the content of a source and split, as plain JSON values and without a path.

    Of known pairs that is their name and fingerprint: so a hub user, a mapped folder and a machine without data agree.
    """
    _, only = with_only(split)
    if "apart" in only:
        only["apart"] = [identity(*split_part(part)) for part in only["apart"]]
    if pairs := known(source, split):
        return pairs | only
    location = resolve(source, split)
    name, split = location.name, location.split
    if location.kind == "sample":
        return {"kind": "sample", "name": name, "split": split, **SAMPLE} | only
    if location.kind == "hub":
        hub = {"kind": "hub", "name": name, "split": location.hub_split}
        return hub | {"config": location.hub.config, "revision": location.revision} | only
    files = [{"format": path.suffix[1:].lower(), "sha256": file_sha256(path)} for path in location.files]
    order = {} if location.hub.ordered else {"order": None}
    return {"kind": "files", "files": files} | order | only


def known(source: str | Path, split: str | None = None) -> dict[str, Any] | None:
    """Name, split and the fingerprint of all pairs of a known set without a revision; None for any other."""
    short, (split, _) = SHORT.get(source), with_only(split)
    pairs = FINGERPRINTS.get((short, split))
    return pairs and {"kind": "known", "name": short, "split": split, "pairs": pairs}


def is_known(source: str) -> bool:
    """Whether a text is the name of a known set, with or without a revision."""
    return source.partition("@")[0] in {*SAMPLES, *SHORT}


def on_disk(source: str | Path) -> Path | None:
    """The file or folder that a source names, from here or from the project's root; None for a known set's name."""
    path = expanded(source)
    if isinstance(source, str) and is_known(source):
        return None
    return next((place for place in (path, find_root() / path) if os.path.exists(place)), None)


def _require_split(name: str, split: str | None, splits: tuple[str, ...]) -> None:
    if split not in splits:
        problem = "needs a split" if split is None else f'has no split "{split}"'
        raise NoSplit(f"{name} {problem}: expected one of {', '.join(splits)}")


def _files(path: Path, split: str | None, hub: HubSet = Location.hub) -> Location:
    if not path.is_dir():  # of a pipe no ending says how it is written
        if path.suffix[1:].lower() not in SUFFIXES:
            raise ValueError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}, got {path.suffix or 'none'}")
        if split is not None:
            raise NoSplit(f'{path} is one file and has no splits, got split "{split}"; leave the split out')
        return Location("files", path.name, files=(path,), hub=hub)
    split_files = {name: files for name in SPLITS if (files := _split_files(path, name, hub))}
    if not split_files:
        raise ValueError(f"{path}: expected train, dev or test files ({', '.join(SUFFIXES)}) in this folder, got none")
    _require_split(str(path), split, tuple(split_files))
    return Location("files", split_files[split][0].name, split, split_files[split], hub=hub)


def _split_files(folder: Path, split: str, hub: HubSet) -> tuple[Path, ...]:
    """The files of one split: `dev.tsv`, `WikiQA-dev.tsv`, or a hub snapshot's `data/dev-00000-of-00002.parquet`, …"""
    places = (folder, folder / "data", *([folder / hub.config] if hub.config else []))
    present = [path for place in places for path in sorted(place.glob("*"))]
    for alias in (hub.splits[SPLITS.index(split)], split, *(["validation", "valid", "val"] if split == "dev" else [])):
        name = rf"(?i)(WikiQA-)?{re.escape(alias)}(-\d{{5}}-of-\d{{5}})?\.({'|'.join(SUFFIXES)})"
        files = tuple(path for path in present if re.fullmatch(name, path.name))
        shards = int(files[0].stem[-5:]) if files and "-of-" in files[0].name else 1
        sets = {re.sub(r"-\d{5}(-of-\d{5}\.)", r"\1", str(path)) for path in files}
        if len(sets) > 1 or len(files) not in (0, shards):
            names = ", ".join(str(path.relative_to(folder)) for path in files)
            raise ValueError(f"{folder}: split {split}: expected {shards} file(s), got {names}")
        if files:
            return files
    return ()
