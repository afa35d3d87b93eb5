"""Adds runs that were made here to those that the repository has, so that every page can be made without them."""

import shutil
from pathlib import Path

from as2lib.paths import file_sha256
from as2lib.study.make import make_all
from as2lib.study.store import Store, StoredRun, write_json, write_parquet
from as2lib.study.study import Study


def publish(study: Study, names: list[str] | None = None) -> list[str]:
    """Add the scores, facts and logs of runs that were made here to `reports/<study>/runs/`; returns their names.

    names: default: every run of the study that was made here and is not published as it is.  They hold no text.
    Raises ValueError, and changes nothing, where index.json can't be read, or the study is not as its file says.
    """
    if study.variant != study.study:
        raise ValueError(f"{study.study}: expected the study as its file says, got other parameters; publish that one")
    store = Store(study, study.plan)  # which reads anew what is published
    index, sources = dict(store.index), dict(store.index_sources)
    if names is None:
        stored = [store.find(name) for name in store.plan]
        here = [run for run in stored if run and not run.scores_only]
        names = [run.name for run in here if run.identity != index.get(run.name, {}).get("identity")]
    make_all(store, names)
    runs = [run for run in map(store.find, names) if not run.scores_only]
    for run in runs:
        files = {path.name: file_sha256(path) for path in _write(run, store.index_folder / run.name)}
        made_by = {"commit": run.commit, "version": run.run.recipe.version}
        index[run.name] = {"identity": run.identity, "facts": run.facts, **made_by, "files": files}
        sources |= store.sources(run.name)
    if runs:
        write_json(store.index_folder / "sources.json", dict(sorted(sources.items())))
        planned = {name: index[name] for name in sorted(index) if name in store.plan}
        write_json(store.index_folder / "index.json", planned)
    return [run.name for run in runs]


def _write(run: StoredRun, path: Path) -> list[Path]:
    """A run's scores over all its splits, and its log: the files, named after `path`."""
    import pandas

    files = []
    splits = sorted(file.stem for file in (run.folder / "scores").glob("*.parquet"))
    if splits:
        tables = [run.scores(split).assign(split=split) for split in splits]
        table = pandas.concat(tables, ignore_index=True).astype({"split": "category"})
        files.append(path.with_name(f"{path.name}.parquet"))
        write_parquet(files[-1], table, small=True)
    if (run.folder / "log.jsonl").exists():
        files.append(path.with_name(f"{path.name}.jsonl"))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.folder / "log.jsonl", files[-1])
    return files
