"""Which modules of the library a notebook is made with, by what its code and they import; runs nothing."""

import ast
from functools import cache
from pathlib import Path

import nbformat

LIBRARY = Path(__file__).parents[1]
RENDERED_BY = ("as2lib.report.pages",)  # makes the page of every notebook
MAKER = LIBRARY / "runs" / "make.py"  # what it imports makes runs, which a notebook finds finished, by their identity


def modules(notebook: Path) -> list[Path]:
    """The library's files that a notebook imports, directly or through others, also those imported in functions.

    What only makes runs is not among them.
    """
    code = "\n".join(cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code")
    found, left = set(), [*_files(code), *(file for name in RENDERED_BY for file in _of(name))]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left += [] if file == MAKER else _files(file.read_text(encoding="utf-8"))
    return sorted(found)


@cache
def _files(code: str) -> tuple[Path, ...]:
    """The library's files that some code imports, but for what only a type checker does."""
    tree = ast.parse(code)
    types = {id(node) for block in ast.walk(tree) if _only_for_types(block) for node in ast.walk(block)}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in types:
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and id(node) not in types:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    if "as2lib.Study" in names:  # imported when asked for
        names.add("as2lib.study")
    return tuple(file for name in sorted(names) for file in _of(name))


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _of(name: str) -> list[Path]:
    """The files of a module's packages and its own; none for a module that is not the library's."""
    package, *parts = name.split(".")
    if package != "as2lib":
        return []
    folders = [LIBRARY.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
    files = [folder / "__init__.py" for folder in folders] + [folders[-1].with_suffix(".py")]
    return [file for file in files if file.exists()]
