"""Makes what is missing: parents first, one run once, also when two processes want it; trains nothing itself."""

import gc
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from tqdm import tqdm

from as2lib.paths import work_folder
from as2lib.plan import Run
from as2lib.store import Store, write_json, write_parquet, write_scores


def make_all(
    store: Store,
    names: list[str],
    progress: bool = True,
    say: Callable[[str], None] | None = None,
    model: bool = False,
) -> None:
    """Make the runs that are missing for the scores of `names`, or for their models.

    progress: a bar over the runs, and on a terminal one over each run's steps.  say: called with a line a finished run.
    """
    missing = store.missing(names, model)
    bar = tqdm(missing, disable=not progress or not missing, unit="run", leave=False)
    for name in bar:
        bar.set_description(name)
        started = time.perf_counter()
        made = make(store, name, progress and sys.stderr.isatty())
        if say and made:
            facts = store.find(name).facts
            dev = facts.get("dev_MAP")
            result = f"   {facts.get('precision', ''):<7}" + ("" if dev is None else f"   dev MAP {100 * dev:5.1f}")
            done = sum(store.find(other) is not None for other in store.plan)
            with tqdm.external_write_mode():
                say(
                    f"{done:>4} of {len(store.plan)}  {name:<36}{time.perf_counter() - started:6.1f} s{result}".rstrip()
                )


def make(store: Store, name: str, progress: bool = False) -> bool:
    """Make one run whose parents are finished; False where it was finished already (by another process, perhaps)."""
    folder = store.folder(name)
    partial = folder.with_name(f"{folder.name}.partial")
    with only_one(folder.name, name):
        if store.find(name, need_model=True):
            return False
        run = store.planned(name)
        partial.mkdir(parents=True, exist_ok=True)
        write_json(partial / "spec.json", {"name": name, "identity": store.identity(name), **store.ingredients(name)})
        facts = MAKERS[run.kind](store, run, partial, progress)
        write_json(partial / "done.json", facts)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    return True


def _lexical(store: Store, run: Run, folder: Path, progress: bool) -> dict[str, Any]:
    from as2lib.data.pairs import load_parts
    from as2lib.models import lexical

    scorer = getattr(lexical, run.spec["scorer"])
    for split, parts in run.data.items():
        pairs = load_parts(tuple(parts), "all")
        write_scores(folder / "scores" / f"{split}.parquet", pairs, scorer(pairs))
    return {"parameters": 0}


def _ensemble(store: Store, run: Run, folder: Path, progress: bool) -> dict[str, Any]:
    from scipy.special import expit

    from as2lib.metrics.ranking import summary
    from as2lib.models import ensemble

    members = [store.find(name) for name in run.parents["members"]]
    facts: dict[str, Any] = {"parameters": sum(member.facts["parameters"] for member in members)}
    tables = {split: [member.scores(split) for member in members] for split in run.data}
    scores = {split: [table["score"].to_numpy() for table in found] for split, found in tables.items()}
    combine = run.spec["combine"]
    if combine == "logistic":
        facts |= ensemble.fit_logistic(scores["dev"], tables["dev"][0]["label"])
    elif combine == "weighted":
        dev = tables["dev"][0]

        def dev_map(score) -> float:
            return summary(dev["question_id"], dev["label"], score)["MAP"]

        weights = ensemble.tuned_weights(scores["dev"], dev_map, run.spec["trials"], run.seed)
        facts |= {"weights": weights, "dev_MAP": dev_map(ensemble.mean(scores["dev"], weights))}
    for split, found in tables.items():
        combined = found[0][["question_id", "position", "label"]].copy()
        combined["score"] = (
            expit(ensemble.weigh(facts, scores[split]))
            if combine == "logistic"
            else ensemble.mean(scores[split], facts.get("weights"))
        )
        write_parquet(folder / "scores" / f"{split}.parquet", combined)
    return facts


def _select(store: Store, run: Run, folder: Path, progress: bool) -> dict[str, Any]:
    """The point of a grid whose fit is best on dev; among equals the first."""
    found = [store.find(name).facts["dev_MAP"] for name in run.parents["members"]]
    best = found.index(max(found))
    return {"settings": run.spec["points"][best], "dev_MAP": found[best]}


def _fit(store: Store, run: Run, folder: Path, progress: bool) -> dict[str, Any]:
    gc.disable()  # imports make no garbage, and looking for some takes a fifth of their time
    from as2lib.fit import train

    gc.enable()
    return train(store, run, folder, progress)


def _shuffled(store: Store, run: Run, folder: Path, progress: bool) -> dict[str, Any]:
    from as2lib.fit import score_shuffled

    return score_shuffled(store, run, folder)


MAKERS = {"lexical": _lexical, "ensemble": _ensemble, "select": _select, "fit": _fit, "shuffled": _shuffled}


def only_one(name: str, what: str) -> FileLock:
    """A lock that the system releases when its holder dies; says so when another process holds it."""
    locks = work_folder() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    lock = FileLock(locks / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
        lock.release()
    except Timeout:
        print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
    return lock
