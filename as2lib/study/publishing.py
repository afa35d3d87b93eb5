"""Adds runs that were made here to those that the repository has, so that every page can be made without them."""

import shutil

from as2lib.paths import file_sha256
from as2lib.study.run import VERSIONS
from as2lib.study.scores import write_scores
from as2lib.study.store import Store, StoredRun, write_json
from as2lib.study.study import Study


def publish(study: Study, names: list[str] | None = None) -> list[str]:
    """Add the scores, facts and logs of runs that were made here to `reports/<study>/scores/`; returns their names.

    names: default: every run of the study that was made here and is not published; with an ensemble its members, whose
    scores are its own.  A run replaces the published one of its name; no other leaves.  Scores hold no text.
    Raises ValueError, and changes nothing, where index.json can't be read, or the study is not as its file says.
    """
    if study.variant != study.name:
        raise ValueError(f"{study.name}: expected the study as its file says, got other parameters; publish that one")
    store = Store(study, study.plan)  # which reads anew what is published
    index = store.index
    missing = [name for name in store.plan if store.identity(name) not in index["runs"]]
    if names is None:
        names = [name for name in missing if store.find(name)]
    members = [member.name for name in names for member in store.planned(name).parents.get("members", ())]
    names = dict.fromkeys([name for name in members if name in missing] + names)
    runs = [run for run in map(study.run, names) if not run.published]
    entries, sources = {}, dict(index["sources"])
    for run in runs:
        entries[run.identity] = _write(run, store)
        sources |= {part: store.data_identity(part) for parts in run.run.data.values() for part in parts}
        sources |= {encoder: store.encoder_identity(encoder) for encoder in run.run.encoders}
    entries |= {key: entry for key, entry in index["runs"].items() if entry["run"] not in [run.name for run in runs]}
    if runs:
        by_run = sorted(entries.items(), key=lambda item: item[1]["run"])
        write_json(store.index_folder / "index.json", {"sources": dict(sorted(sources.items())), "runs": dict(by_run)})
    return [run.name for run in runs]


def _write(run: StoredRun, store: Store) -> dict:
    """Leave a run's scores and its log; returns its entry in the index.  An ensemble's are made of its members'."""
    path, files = store.index_folder / run.name, []
    tables = {file.stem: run.scores(file.stem) for file in sorted((run.folder / "scores").glob("*.parquet"))}
    whole = [table for table in tables.values() if "last" in table]
    last_is_best = bool(whole) and all(table["last"].equals(table["score"]) for table in whole)
    if tables and run.run.kind != "ensemble":
        if last_is_best:
            tables = {split: table.drop(columns="last") for split, table in tables.items()}
        files.append(path.with_name(f"{path.name}.parquet"))
        write_scores(files[-1], tables, probabilities=run.run.kind != "lexical")
    if (run.folder / "log.jsonl").exists():
        files.append(path.with_name(f"{path.name}.jsonl"))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder / "log.jsonl", files[-1])
    entry = {"run": run.name, "commit": run.commit, "version": VERSIONS[run.run.kind], "facts": run.facts}
    entry["files"] = {file.name: file_sha256(file) for file in files}
    return entry | {"last is best": True} if last_is_best else entry
