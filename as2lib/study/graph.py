"""What decides the pages of a study, compared by content: the Snakefile's markers; runs nothing.

A marker's name ends in the hash of all that went into what it stands for, and it holds the SHA-256 of what came out.
"""

import shutil
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from as2lib.paths import PACKAGE, file_sha256, find_root, work_folder
from as2lib.study import bundles, catalogue
from as2lib.study.bundles import Bundle
from as2lib.study.run import Notebook
from as2lib.study.store import json_sha256, read_json, write_json
from as2lib.study.study import Study

LIBRARY = ("**/*.py", "papers/**/*.csv", "report/template/*")  # what pages are made with, from the package
RUNS_ONLY = tuple(  # what makes runs, which count by their identities
    "cli.py commands/ fit/ losses/ study/bundles.py study/derived.py study/estimate.py study/fitting.py study/make.py "
    "study/processes.py study/progress.py study/publishing.py".split()
)


def job_marker(study: Study, job: str) -> str:
    """The file, from the project's root, that says that the runs of a job are made."""
    return (_folder(study) / "fit" / job).as_posix()


def job_log(study: Study, job: str) -> str:
    """The file, from the project's root, that has what a job printed."""
    return (_folder(study) / "logs" / f"{job}.log").as_posix()


def markers(study: Study) -> dict[str, str]:
    """Each notebook, and "check" → the file that says that it was done with what there is now.

    The first notebook and the check stand on all the others, and on what a person expects and found.
    """
    notebooks = catalogue.notebooks(study)
    markers = {page.name: _marker(study, page.name, notebook_content(study, page)) for page in notebooks}
    root = find_root()
    files = [root / "params" / "expected" / f"{study.study}.json", root / "params" / "findings" / f"{study.study}.yaml"]
    authored = [file_sha256(file) for file in files if file.exists()]
    for name in (notebooks[0].name, "check"):
        markers[name] = _marker(study, name, [list(markers.values()), authored])
    return markers


def notebook_content(study: Study, notebook: Notebook) -> dict[str, Any]:
    """All that decides a notebook's page, by what a reader calls it."""
    root = find_root()
    names = [f"params/findings/{study.study}.yaml", "params/local.yaml", "docs/references.bib", *notebook.files]
    files = [file for name in names for file in sorted(root.glob(name))]
    systems = [(system.run, system.label, system.group) for system in notebook.systems]
    return {
        "its study's parameters": json_sha256(study.model_dump(mode="json")),
        "its text": file_sha256(root / "notebooks" / f"{notebook.name}.ipynb"),
        "its systems": json_sha256(systems),
        "as2lib": library(),
        "a file": {file.relative_to(root).as_posix(): file_sha256(file) for file in files},
        "a run": {
            run.name: study.store.identity(run.name) for system in notebook.systems for run in system.runs(study)
        },
    }


def why(study: Study, notebook: Notebook, marker: Path, jobs: dict[str, Bundle]) -> str:
    """Why a notebook has to be run, in a few words; "" where its page is as it should be."""
    if marker.exists():
        if not as_it_came_out(marker):
            return "its page, or what it saved, was changed or removed"
        return "runs that it reads are not made yet" if notebook_parents(study, notebook, jobs) else ""
    earlier = sorted(marker.parent.glob(f"{notebook.name}.*"), key=lambda path: path.stat().st_mtime)
    if not earlier:
        return "not made yet"
    before = read_json(earlier[-1]).get("content", {})
    for part, value in notebook_content(study, notebook).items():
        if isinstance(value, dict) and isinstance(before.get(part), dict):
            if changed := sorted(dict(value.items() ^ before[part].items())):
                return f"{part} changed: {changed[0]}" + (f" and {len(changed) - 1} more" if changed[1:] else "")
        elif before.get(part) != value:
            return f"{part} changed"
    return "another notebook changed"


def notebook_parents(study: Study, notebook: Notebook, jobs: dict[str, Bundle]) -> list[str]:
    """The markers of the jobs that make what a notebook reads."""
    home = {run: name for name, job in jobs.items() for run in job.runs}
    runs = [run.name for system in notebook.systems for run in system.runs(study)]
    return [job_marker(study, job) for job in dict.fromkeys(home[run] for run in runs if run in home)]


def mark(marker: str, outputs: list[Path], content: dict[str, Any] | None = None) -> None:
    """Write a marker: what came out, and of what, by its content."""
    root = find_root()
    digests = {path.relative_to(root).as_posix(): file_sha256(path) for path in sorted(outputs)}
    write_json(root / marker, {"outputs": digests, "content": content or {}})


def jobs(study: Study) -> dict[str, Bundle]:
    """The jobs of the study as `refresh` left them: the same on every machine that runs one."""
    path = find_root() / _folder(study) / "jobs.json"
    return {name: Bundle(**job) for name, job in read_json(path).items()} if path.exists() else {}


def refresh(study: Study, markers: list[str]) -> dict[str, Bundle]:
    """Before the graph is walked: bundle what is missing into jobs, and forget what no longer lies as it came out."""
    root = find_root()
    folder = root / _folder(study)
    jobs = bundles.bundles(study.store)
    write_json(folder / "jobs.json", {name: asdict(job) for name, job in jobs.items()})
    shutil.rmtree(folder / "fit", ignore_errors=True)
    for marker in markers:
        if (root / marker).exists() and not as_it_came_out(root / marker):
            (root / marker).unlink()
    return jobs


def as_it_came_out(marker: Path) -> bool:
    digests = read_json(marker).get("outputs")
    files = {find_root() / name: digest for name, digest in (digests or {}).items()}
    return digests is not None and all(path.exists() and file_sha256(path) == files[path] for path in files)


def _marker(study: Study, name: str, content: Any) -> str:
    return (_folder(study) / f"{name}.{json_sha256(content)[:16]}").as_posix()


def _folder(study: Study) -> Path:
    return work_folder().relative_to(find_root()) / "graph" / study.variant


def outputs(study: Study, notebook: str) -> list[Path]:
    """The files of a notebook that are there: its page, metrics, tables and figures, but for measured times."""
    folder, number = find_root() / "reports" / study.variant, notebook[:2]
    page = folder / ("index.html" if number == "00" else f"{notebook}.html")
    files = [page, folder / "metrics" / f"{number}.json"]
    files += [path for kind in ("tables", "figures") for path in (folder / kind).glob(f"{number}_*")]
    return [path for path in files if path.exists() and ".timing." not in path.name]


@cache
def library() -> dict[str, str]:
    """The SHA-256 of each file of the library that pages are made with, by its path."""
    paths = sorted(path for pattern in LIBRARY for path in PACKAGE.glob(pattern))
    names = {path.relative_to(PACKAGE).as_posix(): path for path in paths}
    return {name: file_sha256(path) for name, path in names.items() if not name.startswith(RUNS_ONLY)}
