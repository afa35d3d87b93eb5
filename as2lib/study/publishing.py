"""Adds runs that were made here to those that the repository has, so that every page can be made without them."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.paths import file_sha256
from as2lib.study import catalogue, packed
from as2lib.study.run import VERSIONS
from as2lib.study.store import Store, StoredRun, read_json, write_json
from as2lib.study.study import Study

if TYPE_CHECKING:
    import pandas


def publish(study: Study, names: list[str] | None = None) -> list[str]:
    """Add the scores, facts and logs of runs that were made here to `reports/<study>/runs/`; returns their names.

    names: default: every run of the study that was made here and is not published as it is; with an ensemble its
    members, whose scores are its own.  They hold no text.
    Raises ValueError, and changes nothing, where index.json can't be read, or the study is not as its file says.
    """
    if study.variant != study.name:
        raise ValueError(f"{study.name}: expected the study as its file says, got other parameters; publish that one")
    store = Store(study, study.plan)  # which reads anew what is published
    index = dict(store.index)
    path = store.index_folder / "sources.json"
    sources = read_json(path) if path.exists() else {}
    if names is None:
        stored = [store.find(name) for name in store.plan]
        here = [run for run in stored if run and not run.scores_only]
        names = [run.name for run in here if run.identity != index.get(run.name, {}).get("identity")]
    members = [member for name in names for member in store.planned(name).parents.get("members", ())]
    unpublished = [run.name for run in members if store.identity(run) != index.get(run.name, {}).get("identity")]
    names = list(dict.fromkeys([*unpublished, *names]))
    for name in store.needed(names):
        store.make(name)
    runs = [run for run in map(store.find, names) if not run.scores_only]
    parts = catalogue.parts_read(study)
    in_ensembles = {member.name for run in store.plan.values() for member in run.parents.get("members", ())}
    for run in runs:
        made_by = {"commit": run.commit, "version": VERSIONS[run.run.kind]}
        index[run.name] = {"identity": run.identity, "facts": run.facts, **made_by}
        index[run.name] |= _write(run, store.index_folder, parts.get(run.run.system, set()), run.name in in_ensembles)
        sources |= store.sources(run.name)
    if runs:
        write_json(store.index_folder / "sources.json", dict(sorted(sources.items())))
        planned = {name: index[name] for name in sorted(index) if name in store.plan}
        write_json(store.index_folder / "index.json", planned)
        for path in (store.index_folder / "pairs").glob("*.parquet"):
            if not any(path.name in entry.get("pairs", {}).values() for entry in planned.values()):
                path.unlink()
    return [run.name for run in runs]


def _write(run: StoredRun, folder: Path, parts: set[str], is_member: bool) -> dict[str, Any]:
    """Leave a run's scores and its log; returns its entry in the index.  parts: what a page reads beside its score.

    An ensemble's scores are made of its members', which are kept in all bits of a float32, since a weighted mean
    magnifies what is left out.
    """
    splits = sorted(file.stem for file in (run.folder / "scores").glob("*.parquet"))
    whole, path, files = {split: run.scores(split) for split in splits}, folder / run.name, []
    data = run.run.data
    pairs = {split: packed.write_pairs(folder / "pairs", data[split], table) for split, table in whole.items()}
    last_is_best = bool(whole) and all(
        "last" in table and table["last"].equals(table["score"]) for table in whole.values()
    )
    if whole and run.run.kind != "ensemble":
        tables = {
            split: read_by_pages(table, split, parts - {"last"} if last_is_best else parts)
            for split, table in whole.items()
        }
        files.append(path.with_name(f"{path.name}.parquet"))
        packed.write_scores(files[-1], tables, probabilities=run.run.kind != "lexical", all_bits=is_member)
    if (run.folder / "log.jsonl").exists():
        files.append(path.with_name(f"{path.name}.jsonl"))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder / "log.jsonl", files[-1])
    entry = {"pairs": pairs, "files": {file.name: file_sha256(file) for file in files}}
    return entry | {"last is best": True} if last_is_best else entry


def read_by_pages(table: "pandas.DataFrame", split: str, parts: set[str]) -> "pandas.DataFrame":
    """The columns of a run's scores that pages read: exits on every split, heads and `last` on the test set."""
    kinds = ["exit_"] * ("exits" in parts)
    if split == "test":
        kinds += ["head_"] * ("heads" in parts) + ["last"] * ("last" in parts)
    return table[[*packed.PAIR_COLUMNS, "score", *(name for name in table if name.startswith(tuple(kinds)))]]
