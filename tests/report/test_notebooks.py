"""How a notebook is written, so that a reader who changes a cell sees what it makes."""

import ast
from collections import Counter
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def cells(request) -> list[ast.Module]:
    """The code cells behind the parameters and the study."""
    notebook = nbformat.read(request.param, 4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code" and not cell.metadata.get("tags")]
    return [ast.parse(source) for source in code]


def test_a_cell_ends_in_the_object_that_it_makes_and_shows_no_other(cells):
    for cell in cells:
        for node in ast.walk(cell):
            assert not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("display", "Markdown"))
            shows = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "show"
            assert not shows or node is cell.body[-1].value, ast.unparse(node)


def test_a_name_is_bound_in_one_cell(cells):
    bound: Counter[str] = Counter()
    for cell in cells[1:]:
        targets = [target for node in cell.body if isinstance(node, ast.Assign) for target in node.targets]
        bound.update({name.id for target in targets for name in ast.walk(target) if _is_bound(name)})
    assert not [name for name, times in bound.items() if times > 1]


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
