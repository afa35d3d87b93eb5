"""What can be known to be wrong before any run is made, also what neither this machine nor the hub has; makes none."""

import os
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from as2lib.data import sources
from as2lib.paths import model_origin
from as2lib.runs.params import ALLOW_SHARED, TOO_LONG, positions
from as2lib.runs.run import READING
from as2lib.runs.store import Store

if TYPE_CHECKING:
    from datasets import Dataset


def require_inputs(store: Store, names: list[str]) -> None:
    """Raises what can be known to be wrong with the pair sets and the encoders of some runs."""
    _require_within_reach(store, names)
    if any(store.plan[name].kind in READING for name in names):  # others need no texts
        _require_data(store, names)
        _require_encoders(store, names)


def encoder_at_hand(name: str) -> bool:
    """Whether an encoder's files are here: a folder, one that local.yaml maps, or what the hub gave before."""
    from huggingface_hub import try_to_load_from_cache

    origin, revision = model_origin(name)
    if isinstance(origin, Path):
        return (origin / "config.json").exists()
    return isinstance(try_to_load_from_cache(origin, "config.json", revision=revision), str)


def _require_within_reach(store: Store, names: list[str]) -> None:
    """Nothing where all that these runs read is here, or the hub answers.

    Raises FileNotFoundError in one line that names what is missing, or what a path that is not there is for.
    """
    runs = [store.planned(name) for name in names]
    parts = dict.fromkeys(part for run in runs for several in run.data.values() for part in several)
    locations = [sources.resolve(*sources.split_part(part)) for part in parts]
    origins = [run.spec.get("backbone", {}) for run in runs]
    origins += [run.spec.get("words", {}).get("vectors", {}) for run in runs]
    encoders = dict.fromkeys(one["name"] for one in origins if "name" in one and one.get("source") != "file")
    wanted = dict.fromkeys(location.name for location in locations if not _pairs_at_hand(location))
    wanted |= dict.fromkeys(name for name in encoders if not encoder_at_hand(name))
    if wanted and not sources.hub_answers():
        raise sources.NotHere(
            f"study {store.study.study} needs {', '.join(wanted)}: not on this machine, and the hub does not answer; "
            f'map each to a folder under "local:" in params/local.yaml, or try again with a network'
        )


def _pairs_at_hand(location: sources.Location) -> bool:
    if location.kind not in ("hub", "built") or location.files:
        return True
    from huggingface_hub import constants

    hub_name = sources.BUILT[location.name] if location.kind == "built" else location.name
    cache = os.environ.get("HF_DATASETS_CACHE") or Path(constants.HF_HOME) / "datasets"
    return Path(cache, hub_name.replace("/", "___").lower()).exists()


def _require_data(store: Store, names: list[str]) -> None:
    """Read what some runs will learn from and be scored on; what is read is kept for them.

    Raises what `load_pairs` raises, and ValueError where two splits of a run share a question and the study does not
    allow it.
    """
    from as2lib.data.pairs import load_parts, load_unlabelled_parts

    known: set[tuple] = set()  # many runs have the same data
    for run in (store.plan[name] for name in names):
        key = (run.spec.get("unlabelled"), *((split, *parts) for split, parts in sorted(run.data.items())))
        if run.kind not in READING or key in known:
            continue
        known.add(key)
        splits = {split: tuple(parts) for split, parts in run.data.items() if split in ("train", "dev", "test")}
        if run.spec.get("unlabelled"):
            load_unlabelled_parts(splits.pop("train"))
        for split in splits.keys() & {"dev", "test"}:
            load_parts(splits[split], "answered")  # a metric of no question is none
        if store.study.data.allow_shared_questions:
            _read(splits)
        else:
            require_apart(splits, ALLOW_SHARED)


def require_apart(splits: Mapping[str, tuple[str, ...]], advice: str) -> None:
    """Raises ValueError, which ends with the advice, where two splits share a question that train would learn from."""
    from as2lib.data.formats import shorten

    sets = _read(splits)
    for first, second in combinations(sets, 2):
        others = set(sets[second].unique("question"))
        if shared := [question for question in sets[first].unique("question") if question in others]:
            both = f"{first} ({', '.join(splits[first])}) and {second} ({', '.join(splits[second])})"
            count = f"{len(shared)} question{'s' if len(shared) > 1 else ''}"
            raise ValueError(f"{both} share {count}, such as {shorten(shared[0])}; {advice}")


def _read(splits: Mapping[str, tuple[str, ...]]) -> dict[str, "Dataset"]:
    """The pairs of each split: of train those that are learnt from."""
    from as2lib.data.pairs import load_parts

    return {split: load_parts(parts, "answered" if split == "train" else "all") for split, parts in splits.items()}


def _require_encoders(store: Store, names: list[str]) -> None:
    """Raises ValueError where a pretrained encoder has fewer positions than the study's pairs may have tokens."""
    fits = [run for run in map(store.plan.get, names) if "name" in run.spec.get("backbone", {})]
    for name in dict.fromkeys(run.spec["backbone"]["name"] for run in fits):
        from as2lib.models.cross_encoder import configuration

        longest, asked = positions(configuration(name).to_dict()), store.study.data.max_length
        if longest is not None and asked > longest:
            raise ValueError(TOO_LONG.format(longest, name, asked))
