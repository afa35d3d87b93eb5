from pathlib import Path

import nbformat
import pytest

from as2lib import Study
from as2lib.papers import notebooks
from as2lib.papers.serving.plan import NOTEBOOK as SERVING  # of WikiQA alone, where it was measured

ROOT = Path(__file__).parents[1]
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture
def own_root(monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(ROOT))


def planned():
    """Name → notebook, of the studies that have all sections between them."""
    studies = [Study.load(ROOT / "params" / f"{study}.yaml") for study in ("sample", "wikiqa")]
    return {notebook.name: notebook for study in studies for notebook in notebooks(study)} | {SERVING.name: SERVING}


def read(path):
    return nbformat.read(path, as_version=4)


def test_the_planned_notebooks_are_the_files_and_the_readme_lists_them():
    assert [path.stem for path in PATHS] == [*sorted(planned()), "tutorial"]
    readme = (ROOT / "README.md").read_text()
    for notebook in planned().values():
        row = f"| [{notebook.name}](notebooks/{notebook.name}.ipynb) | {notebook.question} | {notebook.reproduces} |"
        assert row in readme


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_is_read_not_scrolled(path):
    cells = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    lines = [sum(bool(line.strip()) for line in source.splitlines()) for source in cells]
    assert sum(lines) <= 90
    assert max(lines) <= 10
    cells = read(path).cells
    assert len(cells) <= 30
    assert max(len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code") <= 25


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_notebook_has_two_parameters_no_outputs_no_counts_and_no_paths(path):
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
    assert str(Path.home()) not in path.read_text()
    assert str(ROOT.parent) not in path.read_text()
    tagged = [cell for cell in read(path).cells if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.source for cell in tagged] == ['study = "sample"\noverrides = {}']


@pytest.mark.parametrize("notebook", planned().values(), ids=lambda n: n.name)
def test_a_notebook_begins_with_its_question_and_what_it_answers(notebook):
    first = read(ROOT / "notebooks" / f"{notebook.name}.ipynb").cells[0].source
    assert first.startswith("# ")
    assert f"> {notebook.question}" in first
