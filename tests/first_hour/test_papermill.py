"""Every notebook by papermill, from any folder: `-f` with a study's file, `-y` with overrides, `-p study NAME`.

Of each notebook a copy is run that ends where its study is loaded.
"""

import shutil
from pathlib import Path

import nbformat
import pytest
import yaml
from papermill.cli import papermill
from papermill.exceptions import PapermillExecutionError

from as2lib import paths
from as2lib.paths import find_root
from as2lib.study import Study
from tests.first_hour.hub_like import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SAYS = "print(study.title, '|', study.seeds, '|', study.threads)"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working folder outside the root, which has the studies' files."""
    shutil.copytree(ROOT / "params", tmp_path / "root" / "params", ignore=shutil.ignore_patterns("local.yaml"))
    monkeypatch.setenv("AS2_ROOT", str(tmp_path / "root"))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def says(notebook: Path, folder: Path, *options: str) -> str:
    """What the study says of itself that a notebook loads when papermill has these options."""
    content = nbformat.read(notebook, as_version=4)
    loads = next(place for place, cell in enumerate(content.cells) if "Study.of_notebook" in cell.source)
    content.cells = [*content.cells[: loads + 1], nbformat.v4.new_code_cell(SAYS)]
    nbformat.write(content, folder / notebook.name)
    command = [str(folder / notebook.name), str(folder / "out.ipynb"), *options, "--log-level=ERROR"]
    papermill.main([*command, "--no-progress-bar"], standalone_mode=False)
    return nbformat.read(folder / "out.ipynb", as_version=4).cells[-1].outputs[0].text.strip()


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_what_the_file_says_and_what_is_overridden(notebook, elsewhere):
    content = yaml.safe_load((ROOT / "params" / "sample.yaml").read_text(encoding="utf-8"))
    edited = elsewhere / "sample.yaml"
    edited.write_text(
        yaml.safe_dump({**content, "title": "my own edit", "seeds": [0]}, sort_keys=False), encoding="utf-8"
    )
    options = ["-f", str(edited), "-y", "overrides: {threads: 2}"]
    assert says(notebook, elsewhere, *options) == "my own edit | [0] | 2"


def test_a_notebook_runs_the_study_of_a_name(elsewhere):
    content = yaml.safe_load((ROOT / "params" / "wikiqa.yaml").read_text(encoding="utf-8"))
    expected = f"{content['title']} | {content['seeds']} | {content.get('threads', 1)}"
    assert says(NOTEBOOKS[3], elsewhere, "-p", "study", "wikiqa") == expected


def test_a_notebook_outside_a_project_belongs_to_the_clone_of_its_library(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", "to be restored")
    monkeypatch.delenv("AS2_ROOT")
    monkeypatch.chdir(tmp_path)
    assert says(NOTEBOOKS[3], tmp_path, "-p", "study", "sample").startswith("Sample")
    Study.of_notebook({"__builtins__": {}, "study": "sample"})
    assert find_root() == ROOT
    assert {path.name for path in tmp_path.iterdir()} == {NOTEBOOKS[3].name, "out.ipynb"}
    monkeypatch.delenv("AS2_ROOT")
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "site-packages" / "as2lib")
    with pytest.raises(FileNotFoundError, match="--cwd"):
        Study.of_notebook({"__builtins__": {}, "study": "sample"})


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("nope", "1", "nope: expected study"), ("study", "007", "study: expected a study's name or file, a text, got 7")],
)
def test_a_parameter_that_cannot_be_ends_the_notebook_with_its_name(elsewhere, option, value, message):
    with pytest.raises(PapermillExecutionError) as error:
        says(NOTEBOOKS[3], elsewhere, "-p", option, value)
    assert error.value.ename == "ValueError"
    assert error.value.evalue.startswith(message)
    assert "\n" not in error.value.evalue
