"""Makes what is missing: parents first, one run once, also when two processes want it; and publishes what was made.

A run is written to <folder>.partial and renamed whole, done.json last: a kill loses the steps since its checkpoint.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from as2lib.paths import file_sha256, work_folder
from as2lib.study.run import Run
from as2lib.study.store import Store, StoredRun, git_commit, write_json, write_parquet, write_scores

if TYPE_CHECKING:
    from as2lib.study.study import Study

MAKE_NOTHING = "AS2_MAKE_NOTHING"  # set in the notebooks of a study's graph, whose runs its groups make
OF_TRAINING = ("learning_rate", "batch_size")  # settings of a grid; the others belong to the objective
CHECKPOINT = "checkpoint"  # in a run's folder while it is made


@dataclass(frozen=True)
class Job:
    """A run to make, and what making it needs.

    run: with the settings that a search picked.  parents: role → stored runs, with weights where they are here.
    folder: where everything is written.
    """

    study: "Study"
    run: Run
    parents: dict[str, list[StoredRun]]
    folder: Path

    @property
    def store(self) -> Store:
        return self.study.store


def make_all(
    study: "Study", names: list[str], model: bool = False, say: Callable[[str], None] | None = None
) -> list[str]:
    """Make the runs that are missing for the scores of some runs, or for their models; returns the names of those made.

    say: called with a line for each run that was made; None: a progress bar on a terminal.
    Raises FileNotFoundError, in one line, where inputs are missing, or where runs are in a notebook of the graph.
    """
    store = study.store
    missing = store.missing(names, model)
    if missing and os.environ.get(MAKE_NOTHING):
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise FileNotFoundError(f"not made yet: {missing[0]}{more}; `as2 fit {study.study} {missing[0]}` makes it")
    from tqdm import tqdm

    made = []
    for place, name in enumerate(tqdm(missing, unit="run", leave=False, disable=True if say else None), 1):
        started = time.perf_counter()
        if make(study, name):
            made.append(name)
            if say:
                say(_line(store, name, time.perf_counter() - started, f"{place:>4} of {len(missing)}"))
    return made


def make_group(study: "Study", group: str, say: Callable[[str], None] | None = None) -> None:
    """Make those runs of a group that the study misses: their weights too, where other runs are made from them."""
    store = study.store
    if group not in store.groups:
        raise KeyError(f"no group {group!r}; there are {', '.join(store.groups)}")
    needed = store.needed(list(study.plan))
    for weights in (True, False):
        names = [name for name in store.groups[group] if needed.get(name) is weights]
        make_all(study, names, model=weights, say=say)


def _line(store: Store, name: str, seconds: float, place: str) -> str:
    facts = store.find(name).facts
    dev = f"   dev MAP {100 * facts['dev_MAP']:5.1f}" if facts.get("dev_MAP") is not None else ""
    return f"{place}  {name:<36}{seconds:7.1f} s   {facts.get('precision', ''):<7}{dev}".rstrip()


def make(study: "Study", name: str) -> bool:
    """Make one run whose parents are made; False where another process made it meanwhile."""
    store = study.store
    run, folder = store.planned(name), store.folder(name)
    partial = folder.with_name(f"{folder.name}.partial")
    with lock(folder.name, name):
        if store.find(name, model=run.kind == "fit"):
            return False
        write_json(partial / "spec.json", {"name": name, "identity": store.identity(name), **store.ingredients(name)})
        facts = MAKERS[run.kind](_job(study, run, partial))
        files = [path for path in sorted(partial.rglob("*")) if path.is_file() and path.name != CHECKPOINT]
        done = {
            "identity": store.identity(name),
            "commit": git_commit(),
            "facts": facts,
            "files": {path.relative_to(partial).as_posix(): file_sha256(path) for path in files},
        }
        write_json(partial / "done.json", done)
        shutil.rmtree(folder, ignore_errors=True)  # one without weights, or of which a file was removed
        os.replace(partial, folder)
        (folder / CHECKPOINT).unlink(missing_ok=True)  # only now: until here a killed fit goes on from it
    return True


def lock(name: str, what: str) -> FileLock:
    """A lock that the system releases when its holder ends; a line says so where another process holds it."""
    folder = work_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    held = FileLock(folder / f"{name}.lock")
    try:
        held.acquire(blocking=False)
    except Timeout:
        print(f"{what} is being made by another process; waiting for it", file=sys.stderr, flush=True)
        held.acquire()
    return held


def _job(study: "Study", run: Run, partial: Path) -> Job:
    parents = {role: [study.store.find(parent.name) for parent in runs] for role, runs in run.parents.items()}
    if "settings" in parents:
        run = replace(run, spec=settled(run.spec, parents["settings"][0].facts["settings"]))
    return Job(study, run, parents, partial)


def settled(spec: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    """A spec with the settings of one point of a grid: {"alpha": 0.1, "learning_rate": 1e-5}."""
    training = spec["training"] | {key: value for key, value in point.items() if key in OF_TRAINING}
    objective = {key: value for key, value in point.items() if key not in OF_TRAINING}
    return {**spec, **objective, "training": training}


def gpus() -> list[str]:
    """The GPUs that this process may use: those that CUDA_VISIBLE_DEVICES names, else all that the driver lists."""
    listed = range(len(list(Path("/proc/driver/nvidia/gpus").glob("*"))))
    names = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, listed)))
    return [name.strip() for name in names.split(",") if name.strip() not in ("", "-1")]


@cache
def take_gpu() -> FileLock | None:
    """Leaves this process, until it ends, one of its GPUs that no other fit has; waits while all are taken.

    To be called before CUDA starts.  Nothing happens where there is at most one, as in a job of a cluster.
    """
    names = gpus()
    while len(names) > 1:
        for name in names:
            held = FileLock(Path(tempfile.gettempdir()) / f"as2lib-gpu-{name}.lock", mode=0o666)
            try:
                held.acquire(blocking=False)
            except Timeout:
                continue
            os.environ["CUDA_VISIBLE_DEVICES"] = name
            return held
        time.sleep(5)
    return None


# ---------------------------------------------------------------- kinds of runs


def _lexical(job: Job) -> dict[str, Any]:
    """A ranker that is not trained."""
    from as2lib.data.pairs import load_parts
    from as2lib.models import lexical

    scorer = getattr(lexical, job.run.spec["scorer"])
    for split, parts in job.run.data.items():
        pairs = load_parts(tuple(parts), "all")
        write_scores(job.folder / "scores" / f"{split}.parquet", pairs, scorer(pairs))
    return {"parameters": 0}


def calibration(spec: dict[str, Any], teachers: Sequence[StoredRun]) -> dict[str, dict[str, Any]]:
    """Name → Platt scaling on dev, of those runs whose scores only order candidates, where a spec asks for it."""
    from as2lib.models.calibration import fit_platt

    if spec.get("calibration") != "platt":
        return {}
    dev = {run.name: run.scores("dev") for run in teachers if run.run.spec.get("unit") == "question"}
    return {name: fit_platt(table["question_id"], table["label"], table["score"]) for name, table in dev.items()}


def _probabilities(run: StoredRun, split: str, platt: dict[str, dict[str, Any]]) -> Any:
    """A member's P(correct) over a split, (m,): its scores, calibrated where `platt` says."""
    from as2lib.models.calibration import calibrated_scores

    table = run.scores(split)
    scores = table["score"].to_numpy()
    return calibrated_scores(platt[run.name], scores, table["question_id"]) if run.name in platt else scores


def _ensemble(job: Job) -> dict[str, Any]:
    """The members' scores combined: their mean, a mean with weights tuned on dev, or a logistic regression on dev."""
    from scipy.special import expit

    from as2lib.metrics.ranking import summary
    from as2lib.models import ensemble

    members, combine = job.parents["members"], job.run.spec["combine"]
    tables = {split: [member.scores(split) for member in members] for split in job.run.data}
    platt = calibration(job.run.spec, members)
    scores = {split: [_probabilities(member, split, platt) for member in members] for split in job.run.data}
    facts: dict[str, Any] = {"parameters": sum(member.facts["parameters"] for member in members)}
    if platt:
        facts["calibration"] = platt
    if combine == "logistic":
        facts |= ensemble.fit_logistic(scores["dev"], tables["dev"][0]["label"])
    elif combine == "weighted":
        dev = tables["dev"][0]

        def dev_map(score: Any) -> float:
            return summary(dev["question_id"], dev["label"], score)["MAP"]

        weights = ensemble.tuned_weights(scores["dev"], dev_map, job.run.spec["trials"], job.run.seed)
        facts |= {"weights": weights, "dev_MAP": dev_map(ensemble.mean(scores["dev"], weights))}
    for split, (first, *_) in tables.items():
        if combine == "logistic":
            score = expit(ensemble.weigh(facts, scores[split]))
        else:
            score = ensemble.mean(scores[split], facts.get("weights"))
        table = first[["question_id", "position", "label"]].assign(score=score)
        write_parquet(job.folder / "scores" / f"{split}.parquet", table)
    return facts


def _placed(job: Job) -> dict[str, Any]:
    """A run's score and the candidate's place in the original order, combined by a regression on dev."""
    from scipy.special import expit

    from as2lib.models import place

    [ranker] = job.parents["members"]
    dev = ranker.scores("dev")
    weights = place.fit(dev["question_id"], dev["label"], dev["score"], dev["position"])
    for split in job.run.data:
        table = ranker.scores(split)[["question_id", "position", "label", "score"]]
        odds = place.columns(table["score"], table["position"]) @ weights
        write_parquet(job.folder / "scores" / f"{split}.parquet", table.assign(score=expit(odds)))
    return {"parameters": ranker.facts["parameters"], "weights": weights}


def _select(job: Job) -> dict[str, Any]:
    """The point of a grid whose fit is best on dev; among equals the first."""
    on_dev = [member.facts["dev_MAP"] for member in job.parents["members"]]
    best = on_dev.index(max(on_dev))
    return {"settings": job.run.spec["points"][best], "dev_MAP": on_dev[best]}


def _fit(job: Job) -> dict[str, Any]:
    take_gpu()
    from as2lib.study.fitting import fit

    return fit(job)


def _shuffled(job: Job) -> dict[str, Any]:
    take_gpu()
    from as2lib.study.fitting import score_shuffled

    return score_shuffled(job)


MAKERS = {
    "lexical": _lexical,
    "ensemble": _ensemble,
    "placed": _placed,
    "select": _select,
    "fit": _fit,
    "shuffled": _shuffled,
}


# ---------------------------------------------------------------- publishing


def publish(study: "Study", names: list[str] | None = None) -> list[str]:
    """Add the scores, facts and logs of runs that were made here to `reports/<study>/runs/`; returns their names.

    names: default: every run of the study that was made here and is not published as it is.  They hold no text.
    Raises ValueError, and changes nothing, where index.json can't be read or the study is not as its file says.
    """
    if study.variant != study.study:
        raise ValueError(f"{study.study}: expected the study as its file says, got other parameters; publish that one")
    store = Store(study)  # which reads anew what is published
    index, sources = dict(store.published), dict(store.published_sources)
    if names is None:
        stored = [store.find(name) for name in store.plan]
        here = [run for run in stored if run and not run.published]
        names = [run.name for run in here if run.identity != index.get(run.name, {}).get("identity")]
    make_all(study, names)
    runs = [run for run in map(store.find, names) if not run.published]
    for run in runs:
        files = {path.name: file_sha256(path) for path in _write_published(run, store.published_folder / run.name)}
        index[run.name] = {"identity": run.identity, "facts": run.facts, "commit": run.commit, "files": files}
        sources |= store.sources(run.name)
    if runs:
        write_json(store.published_folder / "sources.json", dict(sorted(sources.items())))
        planned = {name: index[name] for name in sorted(index) if name in store.plan}
        write_json(store.published_folder / "index.json", planned)
    return [run.name for run in runs]


def _write_published(run: StoredRun, path: Path) -> list[Path]:
    """A run's scores over all its splits, what it says of others' pairs, and its log: the files, named after `path`."""
    import pandas

    files = []
    splits = sorted(file.stem for file in (run.folder / "scores").glob("*.parquet"))
    if splits:
        tables = [run.scores(split).assign(split=split) for split in splits]
        table = pandas.concat(tables, ignore_index=True).astype({"split": "category"})
        files.append(path.with_name(f"{path.name}.parquet"))
        write_parquet(files[-1], table, small=True)
    for logits in sorted((run.folder / "logits").glob("*.parquet")):
        files.append(path.with_name(f"{path.name}.logits-{logits.name}"))
        write_parquet(files[-1], pandas.read_parquet(logits), small=True)
    if (run.folder / "log.jsonl").exists():
        files.append(path.with_name(f"{path.name}.jsonl"))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder / "log.jsonl", files[-1])
    return files
