"""What can be known to be wrong before any run is made; makes none."""

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from as2lib.data.formats import shorten
from as2lib.data.pairs import load_parts, load_unlabelled_parts
from as2lib.runs.params import ALLOW_SHARED, TOO_LONG, positions
from as2lib.runs.run import READING, Run
from as2lib.runs.store import Store

if TYPE_CHECKING:
    from datasets import Dataset


def require_data(store: Store, names: list[str]) -> None:
    """Read what some runs will learn from and be scored on; what is read is kept for them.

    Raises what `load_pairs` raises, and ValueError where two splits of a run share a question and the study does not
    allow it.
    """
    known: set[tuple] = set()  # many runs have the same data
    for run in (store.plan[name] for name in names):
        if run.kind not in READING or (key := _key(run)) in known:
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
    sets = _read(splits)
    for first, second in combinations(sets, 2):
        others = set(sets[second].unique("question"))
        if shared := [question for question in sets[first].unique("question") if question in others]:
            both = f"{first} ({', '.join(splits[first])}) and {second} ({', '.join(splits[second])})"
            count = f"{len(shared)} question{'s' if len(shared) > 1 else ''}"
            raise ValueError(f"{both} share {count}, such as {shorten(shared[0])}; {advice}")


def _read(splits: Mapping[str, tuple[str, ...]]) -> dict[str, "Dataset"]:
    """The pairs of each split: of train those that are learnt from."""
    return {split: load_parts(parts, "answered" if split == "train" else "all") for split, parts in splits.items()}


def require_encoders(store: Store, names: list[str]) -> None:
    """Raises ValueError where a pretrained encoder has fewer positions than the study's pairs may have tokens."""
    fits = [run for run in map(store.plan.get, names) if "name" in run.spec.get("backbone", {})]
    for name in dict.fromkeys(run.spec["backbone"]["name"] for run in fits):
        from as2lib.models.cross_encoder import configuration

        longest, asked = positions(configuration(name).to_dict()), store.study.data.max_length
        if longest is not None and asked > longest:
            raise ValueError(TOO_LONG.format(longest, name, asked))


def _key(run: Run) -> tuple:
    return bool(run.spec.get("unlabelled")), *((split, *parts) for split, parts in sorted(run.data.items()))
