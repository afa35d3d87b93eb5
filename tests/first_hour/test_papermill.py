"""Every notebook by papermill, from any folder: `-f` with a study's file, `-y` with overrides, `-p study NAME`.

A notebook's cells up to the one that loads its study are run here, with papermill's cell of parameters among them; one
notebook is run by papermill itself.
"""

from pathlib import Path

import nbformat
import pytest
import yaml
from papermill.cli import papermill
from papermill.iorw import load_notebook_node
from papermill.parameterize import parameterize_notebook

from as2lib import Study
from tests.first_hour.hub_like import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def until_loaded(notebook: Path) -> nbformat.NotebookNode:
    """A copy that ends where its study is loaded."""
    content = load_notebook_node(str(notebook))
    loads = next(place for place, cell in enumerate(content.cells) if "Study.load(study, overrides)" in cell.source)
    content.cells = content.cells[: loads + 1]
    return content


def loaded(notebook: Path, **parameters) -> Study:
    """The study that a notebook loads with papermill's parameters."""
    names: dict = {}
    for cell in parameterize_notebook(until_loaded(notebook), parameters).cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
    return names["study"]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working folder outside any project, which no AS2_ROOT names."""
    monkeypatch.setenv("AS2_ROOT", "to be restored")
    monkeypatch.delenv("AS2_ROOT")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_loads_what_the_file_says_and_what_is_overridden(notebook, elsewhere, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))
    content = yaml.safe_load((ROOT / "params" / "sample.yaml").read_text(encoding="utf-8"))
    content["study"] |= {"title": "my own edit", "seeds": [0]}
    study = loaded(notebook, **content, overrides={"threads": 2})
    assert (study.title, study.seeds, study.threads) == ("my own edit", [0], 2)
    assert loaded(notebook, study="wikiqa") == Study.load("wikiqa")


def test_papermill_runs_a_file_outside_a_project_in_the_clone_of_the_library(elsewhere):
    content = until_loaded(NOTEBOOKS[3])
    content.cells.append(nbformat.v4.new_code_cell("print(study.title, '|', study.threads)"))
    nbformat.write(content, "in.ipynb")
    content = yaml.safe_load((ROOT / "params" / "sample.yaml").read_text(encoding="utf-8"))
    content["study"]["title"] = "mine"
    Path("sample.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    options = ["-f", "sample.yaml", "-y", "overrides: {threads: 2}", "--log-level=ERROR", "--no-progress-bar"]
    papermill.main(["in.ipynb", "out.ipynb", *options], standalone_mode=False)
    assert nbformat.read("out.ipynb", as_version=4).cells[-1].outputs[0].text == "mine | 2\n"
    assert {path.name for path in elsewhere.iterdir()} == {"in.ipynb", "out.ipynb", "sample.yaml"}
