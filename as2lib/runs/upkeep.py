"""The store as a whole: whether all of it is as it was written, and what in it no study needs; makes no run."""

import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import lock_descriptor

from as2lib.intact import CACHES, Damaged, has_seal, sealed, shown
from as2lib.paths import work_folder
from as2lib.runs.files import check_logits
from as2lib.runs.store import Store
from as2lib.runs.vouched import check_files, read_done

DAY = 86_400  # seconds: a temporary file that is older was left by a kill


def check_store(store: Store, say: Callable[[str], None]) -> int:
    """Read all runs in `work/`, those this study published, and all caches whole; say what is damaged, return how many.

    A damaged cache is removed, to be made again when it is needed; a damaged run is made again by the next fit.
    """
    names = {store.folder(name).name: name for name in store.plan}
    runs = sorted((work_folder() / "runs").glob("*/done.json"))
    damaged, unknown = [], 0
    for done in runs:
        try:
            unknown += not read_done(done, anew=True)["files"]
        except Damaged as error:
            name = names.get(done.parent.name)
            damaged.append(f"{error}; {f'{name} is made again by the next fit' if name else 'of no run of this study'}")
    for name, entry in store.published.items():
        try:
            unknown += "files" not in entry
            check_files((store.published_folder / name).parent, entry.get("files", {}), anew=True)
        except Damaged as error:
            damaged.append(f"{error}; {name} is to be restored, or made again")
    caches = [path for name in CACHES for path in sorted((work_folder() / name).glob("[!.]*")) if path.is_file()]
    for path in caches:
        if path.suffix == ".safetensors":
            try:
                check_logits(path)
            except Damaged as error:
                damaged.append(f"{error}; they are computed again when they are needed")
        elif not sealed(path, anew=True):
            damaged.append(f"{shown(path)}: removed, it is made again when it is needed")
    for line in damaged:
        say(line)
    whole = f"{len(runs)} runs, {len(store.published)} published ones and {len(caches)} caches"
    say(f"read {whole}: {len(damaged)} damaged; {unknown} runs were made before hashes were kept")
    return len(damaged)


def stale(stores: Iterable[Store]) -> dict[Path, tuple[str, int]]:
    """What lies in `work/` that none of these studies needs: path → why, and its bytes."""
    work, runs, fitted = work_folder(), set(), set()
    for store in stores:
        runs |= {store.folder(name).name for name in store.plan}
        fitted |= {store.marker(group) for group in store.groups} | {store.graph_file}
    unneeded = {
        "of no study's run": [path for path in (work / "runs").glob("[!.]*") if _identity(path) not in runs],
        "of no study's teacher": [path for path in (work / "logits").glob("[!.]*") if _identity(path) not in runs],
        "of groups that no study has": [path for path in (work / "fitted").rglob("*") if path.is_file()],
        "made before hashes were kept": [
            path for name in CACHES for path in (work / name).glob("*.[an][rp][ry]*") if not has_seal(path)
        ],
        "left by a process that ended": [
            path for path in work.rglob(".*") if path.is_file() and time.time() - path.stat().st_mtime > DAY
        ],
    }
    return {
        path: (why, sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file()))
        for why, paths in unneeded.items()
        for path in sorted(paths)
        if path not in fitted and not _being_made(path)
    }


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _identity(path: Path) -> str:
    return path.name[:24]  # of a run's folder, also while it is made, and of its logits


def _being_made(path: Path) -> bool:
    lock = work_folder() / "locks" / f"{_identity(path)}.lock"
    if not lock.exists():
        return False
    with lock.open("a") as file:
        return not lock_descriptor(file.fileno(), blocking=False)
