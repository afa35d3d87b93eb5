"""A table as a reader sees it: strings, as HTML, LaTeX and Markdown; writes nothing."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Number
from typing import Any

import pandas

from as2lib import escape
from as2lib.runs.wording import number, p_cell

MISSING = "–"
SHORT = 24  # letters of a cell up to which a column of words needs little room
COUNTED = ("questions", "pairs", "correct", "parameters", "layers", "units", "heads", "seconds", "row", "seeds")


def formatted(table: pandas.DataFrame, digits: int = 1) -> pandas.DataFrame:
    """Strings: the index becomes the first column; `run` and empty columns go; `MAP` and `MAP ±` become "61.2 ± 0.4".

    Whole numbers and counts stay whole, others get `digits` decimals; p values as `wording.p_cell` has them; what is
    missing is a dash.
    """
    flat = table.reset_index() if table.index.name else table.reset_index(drop=True)
    flat = flat.drop(columns=[name for name in flat if name == "run" or flat[name].isna().all()])
    shown = {}
    for name in flat:
        if name.endswith(" ±"):
            continue
        places = 0 if _counts(flat, name) else digits
        is_p = name == "p" or name.startswith("p ")
        cells = [p_cell(value, MISSING) if is_p else _cell(value, places) for value in flat[name]]
        if f"{name} ±" in flat:
            spread = [_cell(value, digits) for value in flat[f"{name} ±"]]
            cells = [cell if s == MISSING else f"{cell} ± {s}" for cell, s in zip(cells, spread, strict=True)]
        shown[name] = cells
    return pandas.DataFrame(shown)


def texts(table: pandas.DataFrame, shown: pandas.DataFrame) -> list[str]:
    """The columns that hold words."""
    return [name for name in shown if not (name in table and pandas.api.types.is_numeric_dtype(table[name]))]


def as_html(shown: pandas.DataFrame, left: Sequence[str], name: str, leads_to: Mapping[str, str]) -> str:
    """The first column is each row's heading, a link where it is in `leads_to`.

    left: columns of words.  name: an id of the table.
    """
    longest = shown.map(len).max()
    kinds = {column: "short words" if longest[column] <= SHORT else "words" for column in left}
    style = {column: f' class="{kinds[column]}"' if column in kinds else "" for column in shown}
    head = "".join(f'<th scope="col"{style[column]}>{escape.html(column)}</th>' for column in shown)
    rows = []
    for first, *others in shown.itertuples(index=False, name=None):
        heading, *behind = style.values()
        cells = "".join(f"<td{css}>{escape.html(cell)}</td>" for css, cell in zip(behind, others, strict=True))
        said = escape.html(first)
        said = f'<a href="{escape.html(leads_to[first])}">{said}</a>' if first in leads_to else said
        rows.append(f'<tr><th scope="row"{heading}>{said}</th>{cells}</tr>')
    body = "\n".join(rows)
    return f'<table id="{name}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'


def commands(runs: Mapping[str, Sequence[str]], study: str) -> str:
    """Folded away: the command that makes the runs of each row, to copy.  runs: row → names of runs."""
    fits = {escape.html(row): f"as2 fit {study} {' '.join(names)}" for row, names in runs.items()}
    lines = "\n".join(f"<dt>{row}</dt><dd><code>{fit}</code></dd>" for row, fit in fits.items())
    return f'<details class="made"><summary>made by: a command for each row</summary>\n<dl>{lines}</dl></details>'


def as_latex(shown: pandas.DataFrame, left: Sequence[str], caption: str, name: str) -> str:
    columns = "".join("l" if column in left else "r" for column in shown)
    escaped = shown.style.hide(axis="index").format(escape.latex).format_index(escape.latex, axis="columns")
    return escaped.to_latex(hrules=True, column_format=columns, caption=escape.latex(caption), label=f"tab:{name}")


def for_spreadsheets(table: pandas.DataFrame) -> pandas.DataFrame:
    """The same without formulas: see `escape.spreadsheet`."""
    found, words = table.copy(), table.select_dtypes(exclude="number")
    found[words.columns] = words.map(escape.spreadsheet)
    return found.rename(index=escape.spreadsheet, columns=escape.spreadsheet)


def as_markdown(table: pandas.DataFrame, digits: int = 1) -> str:
    """With the cells that a page shows; words stand left, numbers right."""
    shown = formatted(table, digits)
    words = texts(table, shown)
    rows = [[escape.markdown(cell) for cell in row] for row in (shown, *shown.to_numpy().tolist())]
    rows.insert(1, [":--" if name in words else "--:" for name in shown])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _counts(flat: pandas.DataFrame, name: str) -> bool:
    """Whether a column counts something, though in floats, since some are missing."""
    if flat[name].dtype.kind != "f" or f"{name} ±" in flat or "%" in name or not any(one in name for one in COUNTED):
        return False
    known = flat[name].dropna()
    return bool((known == known.round()).all())


def _cell(value: Any, digits: int) -> str:
    if pandas.isna(value):
        return MISSING
    if isinstance(value, bool) or not isinstance(value, Number):
        return str(value)
    return number(value, 0 if isinstance(value, Integral) else digits)
