"""Which pages of a study have to be made: a stamp of each, of what it reads and of what came out; runs nothing."""

from functools import cache
from pathlib import Path

from as2lib.paths import PACKAGE, file_sha256, find_root, work_folder
from as2lib.study.run import Notebook
from as2lib.study.store import json_sha256, read_json, write_json
from as2lib.study.study import Study

LIBRARY_FILES = ("**/*.py", "papers/**/*.csv", "report/template/*")  # what pages are made with, from the package
# What makes runs, which count by their keys.
MAKERS_OF_RUNS = ("cli.py", "commands/", "fit/", "losses/", "models/", "study/fit_missing.py", "study/make.py")


def stamps(study: Study) -> dict[str, str]:
    """Each notebook → the SHA-256 of what it reads; the first reads all others."""
    stamps = {notebook.name: stamp(study, notebook) for notebook in study.notebooks}
    read = [*study.folder.glob("metrics/*.json"), *find_root().glob(f"params/expected/{study.name}.json")]
    first = json_sha256([stamps, *(file_sha256(file) for file in sorted(read) if not file.name.startswith("00"))])
    return stamps | {study.notebooks[0].name: first}


def stamp(study: Study, notebook: Notebook) -> str:
    """The SHA-256 of all that a notebook reads but for other pages."""
    names = ["params/local.yaml", "docs/references.bib", f"params/findings/{study.name}.yaml", *notebook.files]
    files = [file for name in (*names, f"notebooks/{notebook.name}.ipynb") for file in sorted(find_root().glob(name))]
    systems = [[system.run, system.label, system.group] for system in notebook.systems]
    found = {name: (study.store.identity(name), study.store.find(name)) for name in sorted(runs(study, notebook))}
    keys = {name: [key, stored and (stored.published or stored.facts)] for name, (key, stored) in found.items()}
    return json_sha256([study.model_dump(mode="json"), systems, keys, [*map(file_sha256, files)], library()])


def runs(study: Study, notebook: Notebook) -> frozenset[str]:
    """The names of the runs that a notebook reads."""
    return frozenset(run.name for system in notebook.systems for run in system.runs(study))


@cache
def library() -> dict[str, str]:
    """The SHA-256 of each file of the library that pages are made with, by its path."""
    paths = sorted(path for pattern in LIBRARY_FILES for path in PACKAGE.glob(pattern))
    names = {path.relative_to(PACKAGE).as_posix(): path for path in paths}
    return {name: file_sha256(path) for name, path in names.items() if not name.startswith(MAKERS_OF_RUNS)}


def why(study: Study, name: str, stamp: str) -> str:
    """Why a page has to be made, in a few words; "" where it is as it should be."""
    file = _stamp_file(study, name)
    if not file.exists():
        return "not made yet"
    made = read_json(file)
    if made["stamp"] != stamp:
        return "what it reads changed"
    return "its page, or what it saved, was changed or removed" if _differing(made["outputs"]) else ""


def record(study: Study, name: str, stamp: str) -> None:
    """Note that a page is made, of what, and what came out."""
    digests = {path.relative_to(find_root()).as_posix(): file_sha256(path) for path in sorted(outputs(study, name))}
    write_json(_stamp_file(study, name), {"stamp": stamp, "outputs": digests})


def outputs(study: Study, notebook: str, timing: bool = False) -> list[Path]:
    """The files of a notebook that are there: page, metrics, tables and figures.  timing: measured times, too."""
    number, folder = notebook[:2], study.folder
    files = [page_file(study, notebook), *folder.glob(f"metrics/{number}.*"), *folder.glob(f"*/{number}_*")]
    return [path for path in files if path.exists() and (timing or ".timing." not in path.name)]


def edited(study: Study) -> list[str]:
    """The files of pages that are no longer as they came out, from the root: tables alone of pages made elsewhere."""
    manifest = study.folder / "manifest.json"
    tables = read_json(manifest)["tables"] if manifest.exists() else {}
    digests = {f"reports/{study.variant}/tables/{name}": digest for name, digest in tables.items()}
    for notebook in study.notebooks:
        if (file := _stamp_file(study, notebook.name)).exists():
            digests |= read_json(file)["outputs"]
    return _differing(digests)


def _differing(digests: dict[str, str]) -> list[str]:
    files = {path: find_root() / path for path in digests}
    return [path for path, file in files.items() if not file.exists() or file_sha256(file) != digests[path]]


def page_file(study: Study, notebook: str) -> Path:
    """Where a notebook's page is; that of all targets is the project's, beside the studies."""
    if notebook == "13_across" and study.variant == study.name:
        return study.folder.parent / "index.html"
    return study.folder / ("index.html" if notebook.startswith("00_") else f"{notebook}.html")


def _stamp_file(study: Study, name: str) -> Path:
    return work_folder() / "stamps" / study.variant / f"{name}.json"
