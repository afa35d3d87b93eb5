"""What decides the pages of a study, by content: why one has to be made, and what came out of it; runs nothing."""

from functools import cache
from pathlib import Path
from typing import Any

from as2lib.paths import PACKAGE, file_sha256, find_root, work_folder
from as2lib.study import catalogue
from as2lib.study.run import Notebook
from as2lib.study.store import git_commit, json_sha256, read_json, write_json
from as2lib.study.study import Study

CHECK = "check"  # the name of the study's check, beside those of notebooks
LIBRARY_FILES = ("**/*.py", "papers/**/*.csv", "report/template/*")  # what pages are made with, from the package
MAKERS_OF_RUNS = tuple(  # what makes runs, which count by their identities
    "cli.py commands/ fit/ losses/ study/estimate.py study/make.py study/publishing.py study/fit_missing.py".split()
)


def contents(study: Study) -> dict[str, dict[str, Any]]:
    """Each notebook, and "check" → all that decides what comes of it; the first and the check stand on all others."""
    notebooks = catalogue.notebooks(study)
    contents = {notebook.name: notebook_content(study, notebook) for notebook in notebooks}
    root = find_root()
    files = [root / "params" / "expected" / f"{study.study}.json", root / "params" / "findings" / f"{study.study}.yaml"]
    authored = {file.name: file_sha256(file) for file in files if file.exists()}
    for name in (notebooks[0].name, CHECK):
        others = {other: json_sha256(content) for other, content in contents.items()}
        contents[name] = contents.get(name, {}) | {"another notebook": others, "what is expected": authored}
    if study.store.index:
        contents[CHECK]["git's HEAD"] = git_commit()  # whose numbers are expected
    return contents


def notebook_content(study: Study, notebook: Notebook) -> dict[str, Any]:
    """All that decides a notebook's page but for other pages."""
    root = find_root()
    names = [f"params/findings/{study.study}.yaml", "params/local.yaml", "docs/references.bib", *notebook.files]
    files = [file for name in names for file in sorted(root.glob(name))]
    systems = [[system.run, system.label, system.group] for system in notebook.systems]
    return {
        "its study's parameters": json_sha256(study.model_dump(mode="json")),
        "its text": file_sha256(root / "notebooks" / f"{notebook.name}.ipynb"),
        "its systems": json_sha256(systems),
        "as2lib": library(),
        "a file": {file.relative_to(root).as_posix(): file_sha256(file) for file in files},
        "a run": {name: study.store.identity(name) for name in sorted(runs(study, notebook))},
    }


def runs(study: Study, notebook: Notebook) -> frozenset[str]:
    """The names of the runs that a notebook reads."""
    return frozenset(run.name for system in notebook.systems for run in system.runs(study))


def why(study: Study, name: str, content: dict[str, Any]) -> str:
    """Why a notebook has to be run, in a few words; "" where its page is as it should be."""
    file = _record_file(study, name)
    if not file.exists():
        return "not made yet"
    record = read_json(file)
    for part, value in content.items():
        if record["content"].get(part) != value:
            return f"{part} changed"
    return "its page, or what it saved, was changed or removed" if _differing(record["outputs"]) else ""


def edited(study: Study) -> list[str]:
    """The files of pages that are no longer as they came out, from the root: tables alone of pages made elsewhere."""
    folder, manifest = f"reports/{study.variant}", study.folder / "manifest.json"
    tables = read_json(manifest)["tables"] if manifest.exists() else {}
    files = []
    for notebook in catalogue.notebooks(study):
        file, number = _record_file(study, notebook.name), notebook.name[:3]
        published = {f"{folder}/tables/{name}": tables[name] for name in tables if name.startswith(number)}
        files += _differing(read_json(file)["outputs"] if file.exists() else published)
    return files


def _differing(digests: dict[str, str]) -> list[str]:
    files = {path: find_root() / path for path in digests}
    return [path for path, file in files.items() if not file.exists() or file_sha256(file) != digests[path]]


def record(study: Study, name: str, content: dict[str, Any]) -> None:
    """Note that a page is made, what came out, and of what."""
    paths = [] if name == CHECK else outputs(study, name)
    digests = {path.relative_to(find_root()).as_posix(): file_sha256(path) for path in sorted(paths)}
    write_json(_record_file(study, name), {"outputs": digests, "content": content})


def outputs(study: Study, notebook: str) -> list[Path]:
    """The files of a notebook that are there: its page, metrics, tables and figures, but for measured times."""
    number = notebook[:2]
    files = [page_file(study, notebook), study.folder / "metrics" / f"{number}.json"]
    files += [path for kind in ("tables", "figures") for path in (study.folder / kind).glob(f"{number}_*")]
    return [path for path in files if path.exists() and ".timing." not in path.name]


def page_file(study: Study, notebook: str) -> Path:
    """Where a notebook's page is; that of all targets is the project's, beside the studies."""
    if notebook == "13_across" and study.variant == study.study:
        return study.folder.parent / "index.html"
    return study.folder / ("index.html" if notebook.startswith("00_") else f"{notebook}.html")


def _record_file(study: Study, name: str) -> Path:
    return work_folder() / "pages" / study.variant / f"{name}.json"


@cache
def library() -> dict[str, str]:
    """The SHA-256 of each file of the library that pages are made with, by its path."""
    paths = sorted(path for pattern in LIBRARY_FILES for path in PACKAGE.glob(pattern))
    names = {path.relative_to(PACKAGE).as_posix(): path for path in paths}
    return {name: file_sha256(path) for name, path in names.items() if not name.startswith(MAKERS_OF_RUNS)}
