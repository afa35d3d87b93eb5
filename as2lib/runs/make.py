"""Makes what is missing: parents first, one run once, also when two processes want it; trains nothing itself."""

import gc
import io
import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from as2lib.intact import Damaged, file_sha256, note, one_line_where_full, read_json
from as2lib.paths import written_whole
from as2lib.runs.alone import only_one
from as2lib.runs.beforehand import require_inputs
from as2lib.runs.files import write_json, write_parquet, write_scores
from as2lib.runs.run import Job
from as2lib.runs.search import settled
from as2lib.runs.store import Store
from as2lib.runs.vouched import write_done
from as2lib.runs.world import agreed, rank


def make_all(
    store: Store,
    names: list[str],
    progress: bool = True,
    say: Callable[[str], None] | None = None,
    model: bool = False,
    refresh: bool = False,
) -> None:
    """Make the runs that are missing for the scores of `names`, or for their models.

    progress: a bar over the runs, and on a terminal one over each run's steps.  say: called with a line a finished run.
    refresh: make those again that other code made, or what they are made from.
    """
    missing = agreed(store.missing(names, model, refresh))
    progress = progress and rank() == 0
    require_inputs(store, missing)
    say = say if rank() == 0 else None
    done = {name for name in store.plan if store.find(name)} if say else set()  # looking costs a hash a file
    steps = _bar(missing, progress)
    for name in steps:
        steps.set_description(name)
        started = time.perf_counter()
        new = make(store, name, progress and sys.stderr.isatty(), refresh)
        done.add(name)
        if new and say:
            with tqdm.external_write_mode():
                say(_line(store, name, time.perf_counter() - started, len(done)))


def _bar(names: list[str], shown: bool) -> tqdm:
    """Over runs: on the terminal, or in a notebook's cell, where its line is replaced and at last removed."""
    shown = bool(names) and shown
    kernel = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    file = _Cell() if shown and hasattr(kernel, "kernel") else None
    return tqdm(names, disable=not shown, unit="run", leave=False, file=file)


class _Cell(io.TextIOBase):
    """Shows the last line written in one output of the cell."""

    def __init__(self):
        from IPython.display import display

        self.shown = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, text: str) -> int:
        if text.strip("\n"):
            self.shown.update({"text/plain": text.strip()}, raw=True)
        return len(text)


def _line(store: Store, name: str, seconds: float, done: int) -> str:
    facts = store.find(name).facts
    dev = f"   dev MAP {100 * facts['dev_MAP']:5.1f}" if facts.get("dev_MAP") is not None else ""
    precision = facts.get("precision", "")  # a derived run computes no matrix product
    return f"{done:>4} of {len(store.plan)}  {name:<36}{seconds:6.1f} s   {precision:<7}{dev}".rstrip()


def make(store: Store, name: str, progress: bool = False, refresh: bool = False) -> bool:
    """Make one run whose parents are finished; False where it was finished already (by another process, perhaps).

    Processes that `torchrun` started make it together: the first one holds the lock and writes, the others fit with it.
    refresh: also where it was finished by other code.
    """
    folder = store.folder(name)
    partial = Path(f"{folder}.partial")
    if rank():
        if (missing := agreed(None)) and store.planned(name).kind == "fit":
            _fit(resolved(store, name), partial, progress)
        store.changed()
        return agreed(missing)
    with only_one(folder.name, name):
        found = store.find(name, need_model=True)
        if not agreed(found is None or (refresh and store.by_other_code(found))):
            return agreed(False)
        job, code = resolved(store, name), store.code(name)
        _forget_unless(partial, code)
        with one_line_where_full(name):
            write_json(partial / "spec.json", {"name": name, "identity": job.identity, **store.ingredients(name)})
            write_json(partial / "code.json", {"code": code})
            facts = MAKERS[job.run.kind](job, partial, progress)
            (partial / "code.json").unlink()
            write_done(partial, facts, job.identity, code)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        store.changed()
        store.marker(job.run.group).unlink(missing_ok=True)  # what was computed from the run before is computed again
    return agreed(True)


def _forget_unless(partial: Path, code: str) -> None:
    """Remove what an interrupted run left, unless the same code made it."""
    try:
        same = read_json(partial / "code.json")["code"] == code
    except (Damaged, KeyError, FileNotFoundError):
        same = False
    if not same and (partial / "checkpoints").exists():
        note(f"{partial.name}: an interrupted fit by other code is not continued; it starts again")
    if not same:
        shutil.rmtree(partial, ignore_errors=True)


def resolved(store: Store, name: str) -> Job:
    """A run with all that making it needs: what is below asks no store."""
    run, study = store.planned(name), store.study
    parents, lineage = store.parents(run), store.lineage(name)
    if "settings" in parents:
        run = replace(run, spec=settled(run.spec, parents["settings"][0].facts["settings"]))
    precision, kernels = store.precision(run), store.kernels(run)
    return Job(run, store.identity(name), parents, lineage, study.study, study.threads, precision, kernels)


def _lexical(job: Job, folder: Path, progress: bool) -> dict[str, Any]:
    from as2lib.data.pairs import load_parts
    from as2lib.models import lexical

    scorer = getattr(lexical, job.run.spec["scorer"])
    for split, parts in job.run.data.items():
        pairs = load_parts(tuple(parts), "all")
        write_scores(folder / "scores" / f"{split}.parquet", pairs, scorer(pairs))
    return {"parameters": 0}


def _ensemble(job: Job, folder: Path, progress: bool) -> dict[str, Any]:
    from scipy.special import expit

    from as2lib.metrics.ranking import summary
    from as2lib.models import ensemble

    run, members = job.run, job.parents["members"]
    facts: dict[str, Any] = {"parameters": sum(member.facts["parameters"] for member in members)}
    tables = {split: [member.scores(split) for member in members] for split in run.data}
    scores = {split: [table["score"].to_numpy() for table in found] for split, found in tables.items()}
    if run.spec["combine"] == "logistic":
        facts |= ensemble.fit_logistic(scores["dev"], tables["dev"][0]["label"])
    elif run.spec["combine"] == "weighted":
        dev = tables["dev"][0]

        def dev_map(score) -> float:
            return summary(dev["question_id"], dev["label"], score)["MAP"]

        weights = ensemble.tuned_weights(scores["dev"], dev_map, run.spec["trials"], run.seed)
        facts |= {"weights": weights, "dev_MAP": dev_map(ensemble.mean(scores["dev"], weights))}
    for split, (first, *_) in tables.items():
        if "intercept" in facts:
            score = expit(ensemble.weigh(facts, scores[split]))
        else:
            score = ensemble.mean(scores[split], facts.get("weights"))
        table = first[["question_id", "position", "label"]].assign(score=score)
        write_parquet(folder / "scores" / f"{split}.parquet", table)
    return facts


def _select(job: Job, folder: Path, progress: bool) -> dict[str, Any]:
    """The point of a grid whose fit is best on dev; among equals the first."""
    found = [member.facts["dev_MAP"] for member in job.parents["members"]]
    best = found.index(max(found))
    return {"settings": job.run.spec["points"][best], "dev_MAP": found[best]}


def _fit(job: Job, folder: Path, progress: bool) -> dict[str, Any]:
    gc.disable()  # imports make no garbage, and looking for some takes a fifth of their time
    from as2lib.runs.fit import train

    gc.enable()
    return train(job, folder, progress)


def _shuffled(job: Job, folder: Path, progress: bool) -> dict[str, Any]:
    from as2lib.runs.fit import score_shuffled

    return score_shuffled(job, folder)


MAKERS = {"lexical": _lexical, "ensemble": _ensemble, "select": _select, "fit": _fit, "shuffled": _shuffled}


def publish(store: Store, names: list[str]) -> list[Path]:
    """Write the scores, facts and logs of finished runs to `reports/<study>/runs/`; they hold no text.

    Raises ValueError where the study is not as its file says.
    """
    import pandas

    if store.study.variant != store.study.study:
        raise ValueError(f"expected {store.study.study} as its file says, got one with other parameters")
    make_all(store, names, progress=False)
    index, written = dict(store.published), []
    for run in filter(None, map(store.find, names)):
        splits = [] if run.published else sorted(path.stem for path in (run.folder / "scores").glob("*.parquet"))
        if not splits:
            continue
        table = pandas.concat([run.scores(split).assign(split=split) for split in splits], ignore_index=True)
        path = store.published_folder / f"{run.name}.parquet"
        write_parquet(path, table.astype({"split": "category"}), small=True)
        if (log := run.folder / "log.jsonl").exists():
            shutil.copyfile(log, path.with_suffix(".jsonl"))
        files = {file.name: file_sha256(file) for file in (path, path.with_suffix(".jsonl")) if file.exists()}
        index[run.name] = {"identity": run.identity, "facts": run.facts, "code": run.code, "files": files}
        written.append(path)
    write_json(
        store.published_folder / "index.json", {name: index[name] for name in sorted(index) if name in store.plan}
    )
    store.__dict__.pop("published", None)
    return written


def forget_made(store: Store) -> None:
    """Remove the markers of groups whose runs are missing after all, so that the graph makes them again."""
    for name in store.missing(list(store.plan)):
        store.marker(store.planned(name).group).unlink(missing_ok=True)


def graph_state(store: Store) -> Path:
    """A file that is written when the list of runs that other code made changes: every page of a study names them."""
    path, outdated = store.graph_file, store.outdated()
    if not path.exists() or path.read_text(encoding="utf-8") != json.dumps(outdated):
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(outdated), encoding="utf-8")
    return path
