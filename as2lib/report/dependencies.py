"""Which modules of the library a notebook is made with, by what its code and they import; runs nothing."""

from pathlib import Path

import nbformat

from as2lib.runs.code import LIBRARY, files_of, imports

RENDERED_BY = ("as2lib.report.pages",)  # makes the page of every notebook
MAKER = LIBRARY / "runs" / "make.py"  # what it imports makes runs, which a notebook finds finished, by their identity


def modules(notebook: Path) -> list[Path]:
    """The library's files that a notebook imports, directly or through others, also those imported in functions.

    What only makes runs is not among them.
    """
    code = "\n".join(cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code")
    found, left = set(), [*imports(code), *(file for name in RENDERED_BY for file in files_of(name))]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left += [] if file == MAKER else imports(file.read_text(encoding="utf-8"))
    return sorted(found)
