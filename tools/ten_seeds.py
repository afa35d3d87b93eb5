"""Fits ten seeds over several machines: `python tools/ten_seeds.py keep STUDY`, `… fit STUDY RUN …`, `… gather STUDY`.

A student learns from what its teachers say of the training pairs, and a seed's students hear teachers of other seeds.
`keep` copies these logits beside the published scores, `reports/<study>/answers/<run>.parquet`.  `fit` takes them, and
published scores, from there in place of a second fit; a published run whose answers are not there it fits, and scores
nothing anew; else it is `as2 fit`, but for weights that no missing run needs.  They leave once a study is whole:
`gather` then leaves in `reports/<study>/scores` what the study's plan has of all that is published, under any study.
"""

import shutil
import sys
from pathlib import Path

import pandas

import as2lib.papers  # noqa: F401  (which registers the rows)
from as2lib.fit import loop
from as2lib.paths import find_root
from as2lib.study import Study, make
from as2lib.study.fit_missing import fit_missing
from as2lib.study.store import write_json


def answers(study: str, run: str) -> Path:
    return find_root() / "reports" / study / "answers" / f"{run}.parquet"


def keep(study: Study) -> None:
    """Copy the logits of every run that was made here and has none there."""
    for name in study.plan:
        to = answers(study.name, name)
        for file in (study.store.folder(name) / "logits").glob("*.parquet"):
            if not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                pandas.read_parquet(file).to_parquet(to, index=False, compression="zstd")


def starts(store, run):
    """The key of the run whose weights another one continues."""
    return next((store.identity(start) for start in run.parents.get("start", ())), None)


def fit(store, run, folder, progress=False):
    """`make.fit`, that makes no run whose answers are kept, and scores a published one as it is published."""
    stored, kept = store.find(run), answers(store.study.name, run.name)
    splits = {"dev", "test"} & set(run.data)
    needed = [store.plan[name] for name in store.needed(runs)]  # of those asked for
    next_steps = [each.name for each in needed if starts(store, each) == store.identity(run)]
    if stored and next_steps and all(answers(store.study.name, name).exists() for name in next_steps):
        (folder / "model").mkdir(parents=True, exist_ok=True)  # a transfer step from which nothing is fitted any more
        return {}, stored.facts
    if not (stored and stored.published and splits):
        return fit_anew(store, run, folder, progress)
    tables = {split: stored.scores(split) for split in sorted(splits)}
    if kept.exists():
        (folder / "model").mkdir(parents=True, exist_ok=True)  # without weights: nothing goes on from them
        (folder / "logits").mkdir(exist_ok=True)
        shutil.copyfile(kept, folder / "logits" / f"{store.learnt_from(run)}.parquet")  # as the fits' commit names it
        return tables, stored.facts
    usual = make.score_tables
    make.score_tables = lambda *_: {split: table.drop(columns="last") for split, table in tables.items()}
    try:
        return fit_anew(store, run, folder, progress)
    finally:
        make.score_tables = usual


def fit_all(study: Study, runs: list[str]) -> bool:
    """What an earlier call passed over, another run may need: folders without weights and answers are made again."""
    for folder in (find_root() / "work" / "runs").glob("*[!l]/model"):  # none of a fit that is going on, `.partial`
        if not any(folder.iterdir()) and not (folder.parent / "logits").exists():
            shutil.rmtree(folder.parent)
    return fit_missing(study.store, runs)


def gather(study: Study) -> None:
    """Replace a study's published scores by those of its plan, from wherever they are published."""
    store, entries, runs = study.store, {}, []
    new = store.index_folder.with_name("gathered")
    for name, run in study.plan.items():
        folder, entry = store.published.get(store.identity(name), (None, None))
        if entry is not None and store.identity(name) not in entries:
            entries[store.identity(name)] = entry | {"run": name}
            runs.append(run)
            for file in entry["files"]:
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile((folder / entry["run"]).with_name(file), (new / name).with_name(file))
    used = {part for run in runs for parts in run.data.values() for part in parts}
    used |= {encoder for run in runs for encoder in run.encoders}
    sources = {name: identity for name, identity in sorted(store.sources.items()) if name in used}
    write_json(
        new / "index.json", {"sources": sources, "runs": dict(sorted(entries.items(), key=lambda item: item[1]["run"]))}
    )
    shutil.rmtree(store.index_folder)
    new.rename(store.index_folder)
    print(f"{len(entries)} of {len(study.plan)} runs")


fit_anew, make.MAKERS["fit"] = make.fit, fit
loop.CHECKPOINT_SECONDS = 600.0  # 1.3 GB of MPNet, which each minute would cost a tenth of the fit

if __name__ == "__main__":
    command, study, *runs = sys.argv[1:]
    commands = {"keep": keep, "gather": gather, "fit": lambda study: fit_all(study, runs)}
    sys.exit(bool(commands[command](Study.load(study))))
