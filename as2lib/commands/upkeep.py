"""`as2 show` and `as2 clean`: what a run is and where it is used, and what in `work/` no study needs."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from as2lib.paths import find_root, work_folder

if TYPE_CHECKING:
    from as2lib.study import Study

CACHES = ("pairs", "encoded", "logits", "vectors", "exports")  # in work/, made again where they are needed
IDENTITY = 24  # characters of a run's identity that name its folder


def show(study: "Study", name: str) -> None:
    """Print a run's spec, parents, where it is used, its facts, and what it scored."""
    from as2lib.commands.evaluating import print_metrics
    from as2lib.study.catalogue import notebooks

    store = study.store
    run, stored = store.planned(name), store.find(name)
    print(f"{name}   {run.kind}   group {run.group}   identity {store.identity(name)[:IDENTITY]}")
    lines = {"spec": json.dumps(run.spec), "data": json.dumps(run.data)}
    lines |= {role: ", ".join(parent.name for parent in runs) for role, runs in run.parents.items()}
    children = [other.name for other in study.plan.values() if run in other.parent_runs()]
    readers = [notebook.name for notebook in notebooks(study) if name in _runs_of(notebook)]
    lines |= {"used by": ", ".join(children) or "–", "read by": ", ".join(readers) or "–"}
    if stored is None:
        missing = [other for other in store.missing([name]) if other != name]
        lines["state"] = "to do" + (f", with {len(missing)} missing runs that it is made from" if missing else "")
    else:
        lines |= {"facts": json.dumps(stored.facts), "commit": stored.commit or "–", "folder": str(stored.folder)}
    for title, content in lines.items():
        print(f"{title:<9} {content}")
    for split in ("dev", "test") if stored else ():
        if split in run.data:
            print_metrics(split, stored.scores(split), "answered")


def _runs_of(notebook) -> set[str]:
    return {run.name for system in notebook.systems for run in system.runs()}


def unneeded(studies: "Iterable[Study]", caches: bool = False) -> dict[Path, str]:
    """What lies in `work/` that none of these studies needs → why.

    caches: also what is made again where it is needed: tokens, built pairs, teachers' logits, exports.
    """
    needed = {study.store.folder(name).name for study in studies for name in study.plan}
    work = work_folder()
    paths: dict[Path, str] = {}
    for folder in sorted((work / "runs").glob("*")):
        identity = folder.name[:IDENTITY]
        if identity not in needed and not is_held(identity):
            paths[folder] = "of no study's run"
    for name in CACHES if caches else ():
        paths |= dict.fromkeys(sorted((work / name).glob("*")), "a cache")
    return paths


def is_held(identity: str) -> bool:
    """Whether a run is being made."""
    path = work_folder() / "locks" / f"{identity}.lock"
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False


def clean(studies: "Iterable[Study]", caches: bool, remove: bool) -> None:
    """Say what no study needs; remove it where that is asked for."""
    paths, total = unneeded(studies, caches), 0.0
    for path, why in paths.items():
        size = sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
        total += size
        print(f"{size / 1e6:>10,.1f} MB  {path.relative_to(find_root())}   {why}")
    end = (": removed" if remove else "; --yes removes them") if paths else ""
    if remove:
        for path in paths:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    print(f"{len(paths)} things that no study needs, {total / 1e6:,.1f} MB{end}")
