"""What decides the pages of a study, compared by content: the Snakefile's markers; runs nothing.

A marker's name ends in the hash of all that went into what it stands for, and it holds the SHA-256 of what came out:
neither the times of files nor what lies there from before says that a page is as it should be.
"""

import os
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.paths import PACKAGE, file_sha256, find_root, work_folder
from as2lib.study import catalogue
from as2lib.study.run import Notebook
from as2lib.study.store import json_sha256, read_json, write_json

if TYPE_CHECKING:
    from as2lib.study.study import Study

LIBRARY = ("**/*.py", "papers/*/published/*.csv", "report/template/*")  # what pages are made with, from the package
RUNS_ONLY = (  # what makes runs, which count by their identities
    "cli.py",
    "commands/",
    "fit/",
    "losses/",
    "study/derived.py",
    "study/fitting.py",
    "study/gpus.py",
    "study/job.py",
    "study/make.py",
    "study/publishing.py",
)


def group_marker(study: "Study", group: str) -> str:
    """The file that says that a group's runs are made, from the project's root."""
    store = study.store
    return _marker(study, f"fit/{group}", [store.identity(name) for name in store.groups[group]])


def group_parents(study: "Study", group: str) -> list[str]:
    """The markers of the groups whose runs a group's are made from."""
    parents = [parent.group for name in study.store.groups[group] for parent in study.plan[name].parent_runs()]
    return [group_marker(study, parent) for parent in dict.fromkeys(parents) if parent != group]


def notebook_marker(study: "Study", notebook: Notebook) -> str:
    """The file that says that a notebook was run as it is now, on what there is now."""
    root = find_root()
    names = [f"params/findings/{study.study}.yaml", "params/local.yaml", *notebook.files]
    files = [file for name in names for file in sorted(root.glob(name))]
    systems = [(system.run, system.label, system.group) for system in notebook.systems]
    runs = [study.store.identity(run.name) for system in notebook.systems for run in system.runs()]
    content = [
        study.model_dump(mode="json"),
        file_sha256(root / "notebooks" / f"{notebook.name}.ipynb"),
        library(),
        [[file.relative_to(root).as_posix(), file_sha256(file)] for file in files],
        systems,
        runs,
    ]
    return _marker(study, notebook.name, content)


def notebook_parents(study: "Study", notebook: Notebook) -> list[str]:
    """The markers of the groups whose runs a notebook reads."""
    groups = [run.group for system in notebook.systems for run in system.runs()]
    return [group_marker(study, group) for group in dict.fromkeys(groups)]


def rehearse(study: "Study") -> None:
    """Name all that the Snakefile will ask for, so that a mistake is known here: of one, quiet Snakemake says nothing.

    Raises FileNotFoundError where a notebook is missing, and KeyError where one reads a run that the study plans not.
    """
    for notebook in catalogue.notebooks(study):
        notebook_marker(study, notebook)
        notebook_parents(study, notebook)
    for group in study.store.groups:
        group_parents(study, group)


def joint_marker(study: "Study", name: str, markers: list[str], files: list[str]) -> str:
    """The file that says that something was done with what stands behind other markers, and with some files."""
    digests = [[file, file_sha256(find_root() / file)] for file in files if (find_root() / file).exists()]
    return _marker(study, name, [markers, digests])


def mark(marker: str, outputs: list[Path]) -> None:
    """Write a marker: what came out, by its content."""
    root = find_root()
    write_json(root / marker, {path.relative_to(root).as_posix(): file_sha256(path) for path in sorted(outputs)})


def refresh(study: "Study", markers: list[str]) -> None:
    """Before the graph is walked: mark the groups that have nothing missing, forget those that have.

    And forget what no longer lies there as it came out.
    """
    store, root = study.store, find_root()
    missing = {study.plan[name].group for name in store.missing(list(study.plan))}
    for group in store.groups:
        marker = root / group_marker(study, group)
        if group in missing:
            marker.unlink(missing_ok=True)
        elif not marker.exists():
            write_json(marker, {})
    for marker in markers:
        if (root / marker).exists() and not _as_it_came_out(root / marker):
            (root / marker).unlink()
    now = time.time()
    for path in (root / _folder(study)).rglob("*.*"):
        if path.stat().st_mtime > now:  # of a clock that was ahead: Snakemake refuses inputs of the future
            os.utime(path)


def _as_it_came_out(marker: Path) -> bool:
    files = {find_root() / name: digest for name, digest in read_json(marker).items()}
    return all(path.exists() and file_sha256(path) == digest for path, digest in files.items())


def _marker(study: "Study", name: str, content: Any) -> str:
    return (_folder(study) / f"{name}.{json_sha256(content)[:16]}").as_posix()


def _folder(study: "Study") -> Path:
    return work_folder().relative_to(find_root()) / "graph" / study.variant


def outputs(study: "Study", notebook: str) -> list[Path]:
    """The files of a notebook that are there: its page, metrics, tables and figures, but for measured times."""
    folder, number = find_root() / "reports" / study.variant, notebook[:2]
    page = folder / ("index.html" if number == "00" else f"{notebook}.html")
    files = [page, folder / "metrics" / f"{number}.json"]
    files += [path for kind in ("tables", "figures") for path in (folder / kind).glob(f"{number}_*")]
    return [path for path in files if path.exists() and ".timing." not in path.name]


@cache
def library() -> dict[str, str]:
    """The SHA-256 of each file of the library that pages are made with, by its path; none of those that make runs."""
    paths = sorted(path for pattern in LIBRARY for path in PACKAGE.glob(pattern))
    names = {path.relative_to(PACKAGE).as_posix(): path for path in paths}
    return {name: file_sha256(path) for name, path in names.items() if not name.startswith(RUNS_ONLY)}
