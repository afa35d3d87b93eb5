"""What decides the pages of a study, compared by content: the Snakefile's markers; runs nothing.

A marker's name ends in the hash of all that went into what it stands for, and it holds the SHA-256 of what came out:
neither the times of files nor what lies there from before says that a page is as it should be.
"""

import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.paths import PACKAGE, file_sha256, find_root, work_folder
from as2lib.study import bundles, catalogue
from as2lib.study.bundles import Bundle
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
    "study/bundles.py",
    "study/derived.py",
    "study/estimate.py",
    "study/fitting.py",
    "study/gpus.py",
    "study/make.py",
    "study/progress.py",
    "study/publishing.py",
)


def jobs_file(study: "Study") -> Path:
    """The file that has the jobs of a study that is being made."""
    return find_root() / _folder(study) / "jobs.json"


def job_marker(study: "Study", job: str) -> str:
    """The file that says that the runs of a job are made, from the project's root."""
    return (_folder(study) / "fit" / job).as_posix()


def job_log(study: "Study", job: str) -> str:
    """The file that has what a job printed, from the project's root."""
    return (_folder(study) / "logs" / f"{job}.log").as_posix()


def job_parents(study: "Study", job: Bundle) -> list[str]:
    """The markers of the jobs whose runs a job's are made from."""
    return [job_marker(study, parent) for parent in job.parents]


def markers(study: "Study") -> dict[str, str]:
    """Each notebook, and "check" → the file that says that it was done with what there is now.

    The first notebook and the check stand on all the others, and on what a person expects and found.
    Raises FileNotFoundError where a notebook is missing, and KeyError where one reads a run that is not planned: to be
    called before Snakemake, which says nothing of either where it is quiet.
    """
    names = [notebook.name for notebook in catalogue.notebooks(study)]
    markers = {
        notebook.name: _marker(study, notebook.name, notebook_content(study, notebook))
        for notebook in catalogue.notebooks(study)
    }
    root = find_root()
    files = [root / "params" / "expected" / f"{study.study}.json", root / "params" / "findings" / f"{study.study}.yaml"]
    authored = [file_sha256(file) for file in files if file.exists()]
    for name in (names[0], "check"):
        markers[name] = _marker(study, name, [list(markers.values()), authored])
    return markers


def notebook_content(study: "Study", notebook: Notebook) -> dict[str, Any]:
    """All that decides a notebook's page, by what a reader calls it."""
    root = find_root()
    names = [f"params/findings/{study.study}.yaml", "params/local.yaml", *notebook.files]
    files = [file for name in names for file in sorted(root.glob(name))]
    systems = [(system.run, system.label, system.group) for system in notebook.systems]
    return {
        "its study's parameters": json_sha256(study.model_dump(mode="json")),
        "its text": file_sha256(root / "notebooks" / f"{notebook.name}.ipynb"),
        "its systems": json_sha256(systems),
        "as2lib": library(),
        "a file": {file.relative_to(root).as_posix(): file_sha256(file) for file in files},
        "a run": {run.name: study.store.identity(run.name) for system in notebook.systems for run in system.runs()},
    }


def why(study: "Study", notebook: Notebook, marker: Path, jobs: dict[str, Bundle]) -> str:
    """Why a notebook has to be run, in a few words; "" where its page is as it should be.

    marker: its own, as `markers` has it.  jobs: of the runs that are missing.
    """
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


def notebook_parents(study: "Study", notebook: Notebook, jobs: dict[str, Bundle]) -> list[str]:
    """The markers of the jobs that make runs which a notebook reads."""
    home = {run: name for name, job in jobs.items() for run in job.runs}
    runs = [run.name for system in notebook.systems for run in system.runs()]
    return [job_marker(study, job) for job in dict.fromkeys(home[run] for run in runs if run in home)]


def mark(marker: str, outputs: list[Path], content: dict[str, Any] | None = None) -> None:
    """Write a marker: what came out, and of what, by its content."""
    root = find_root()
    digests = {path.relative_to(root).as_posix(): file_sha256(path) for path in sorted(outputs)}
    write_json(root / marker, {"outputs": digests, "content": content or {}})


def jobs(study: "Study") -> dict[str, Bundle]:
    """The jobs of the study as `refresh` left them: the same on every machine that runs one."""
    return bundles.read(jobs_file(study))


def refresh(study: "Study", markers: list[str]) -> dict[str, Bundle]:
    """Before the graph is walked: bundle what is missing into jobs, and forget what no longer lies as it came out."""
    root = find_root()
    folder = root / _folder(study)
    missing = bundles.bundles(study.store)
    bundles.write(jobs_file(study), missing)
    shutil.rmtree(folder / "fit", ignore_errors=True)
    for marker in markers:
        if (root / marker).exists() and not as_it_came_out(root / marker):
            (root / marker).unlink()
    return missing


def as_it_came_out(marker: Path) -> bool:
    """Whether all that a marker stands for lies there as it was made."""
    digests = read_json(marker).get("outputs")
    files = {find_root() / name: digest for name, digest in (digests or {}).items()}
    return digests is not None and all(path.exists() and file_sha256(path) == files[path] for path in files)


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
