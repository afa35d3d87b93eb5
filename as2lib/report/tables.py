"""A table as a reader sees it: labels, one decimal, spreads beside their means; writes no file."""

from collections.abc import Mapping, Sequence
from html import escape
from numbers import Integral, Number
from typing import Any

import numpy
import pandas
from pandas.api.types import is_integer_dtype
from pandas.io.formats.style import Styler

MISSING, MINUS = "–", "\u2212"
WIDE = 8  # columns, from which on a table is set in smaller letters
COUNTED = ("seeds", "questions", "pairs", "correct", "layers", "heads", "units", "wins", "losses", "ties", "row")


def formatted(
    table: pandas.DataFrame, labels: Mapping[str, str], columns: Sequence[str] | None = None, digits: int = 1
) -> pandas.DataFrame:
    """Strings, the index as the first column: run names as `labels` has them, "MAP" and "MAP ±" as "61.2 ± 0.4".

    labels: run name → label; a pair of runs in the index becomes "A − B".
    columns: those to show, in this order, a paper's where the table has them; default: all but `run`, and those without
        any value.
    """
    index = [_name(key, labels) for key in table.index]
    if columns is None:
        columns = [name for name in table if name != "run" and not table[name].isna().all()]
    columns = [name for name in columns if name in table or not (table.empty or is_of_a_paper(name))]
    rows = "comparison" if table.index.nlevels > 1 else "" if is_integer_dtype(table.index) else "system"
    shown = {table.index.name if table.index.name not in (None, "run") else rows: index}
    for name in columns:
        if name.endswith(" ±"):
            continue
        shown[name] = [cell(value, name, digits) for value in table[name]]
        if f"{name} ±" in table:
            spreads = [cell(value, f"{name} ±", digits) for value in table[f"{name} ±"]]
            both = zip(shown[name], spreads, strict=True)
            shown[name] = [mean if spread == MISSING else f"{mean} ± {spread}" for mean, spread in both]
    return pandas.DataFrame(shown)


def is_of_a_paper(column: str) -> bool:
    """Whether a table has this column only where something published stands beside it."""
    return "published" in column or column == "verdict"


def labelled(table: pandas.DataFrame, labels: Mapping[str, str]) -> pandas.DataFrame:
    """The same, its index as a reader knows it."""
    return table.set_axis([_name(key, labels) for key in table.index])


def _name(key: Any, labels: Mapping[str, str]) -> str:
    parts = key if isinstance(key, tuple) else (key,)
    return f" {MINUS} ".join(str(labels.get(part, part)) for part in parts)


def cell(value: Any, column: str, digits: int = 1) -> str:
    """One value as its column wants it."""
    if pandas.isna(value):
        return MISSING
    if isinstance(value, bool | numpy.bool_):
        return "yes" if value else "no"
    if not isinstance(value, Number):
        return str(value)
    if column.endswith("parameters"):
        return number(value / 1e6, 1 if value else 0) + (" M" if value else "")
    if "p" in column.split():  # "p Holm", "Wilcoxon p"
        return "< 0.001" if value < 0.001 else number(value, 3)
    digits = 2 if column.endswith("×") else digits
    whole = isinstance(value, Integral) or (column in COUNTED and float(value).is_integer())
    return number(value, 0 if whole else digits)


def number(value: float, digits: int = 1) -> str:
    """ "61.2", "−0.4", "1,234.5"; "0.0" also for what rounds to it from below."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def styled(shown: pandas.DataFrame, caption: str, name: str, folded: bool = False) -> Styler:
    """A table of strings, its first column each row's heading, as Jupyter shows it.

    caption: HTML.  name: its id.  folded: whether a page shows its rows on a click only.
    """
    heads, body = shown.iloc[:, 0], shown.iloc[:, 1:]
    body = body.set_axis(pandas.Index(heads.to_numpy(), name=None), axis=0)
    body = body.rename_axis(columns=escape(str(heads.name)))
    places = [place for place, column in enumerate(body) if not body[column].map(_is_number).all()]
    words = [f"{cell}.col{place}" for place in places for cell in ("td", "th")]
    left = {"selector": "th.row_heading", "props": "text-align: left"}
    wrapped = {"selector": ", ".join(words), "props": "text-align: left; white-space: normal; min-width: 7rem"}
    styler = Styler(body, uuid=name, cell_ids=False).format(escape="html").set_caption(caption)
    styler = styler.format_index(escape="html").format_index(escape="html", axis="columns")
    classes = ["wide"] * (len(shown.columns) >= WIDE) + ["folded"] * folded
    styler = styler.set_table_attributes(f'class="{" ".join(classes)}"')
    return styler.set_table_styles([left, wrapped] if words else [left])


def _is_number(text: str) -> bool:
    return text == MISSING or text[:1].isdigit() or text[:1] in MINUS + "+<"


def as_latex(shown: pandas.DataFrame, caption: str, name: str) -> str:
    """A table environment with its caption and label, for `booktabs`."""
    kinds = "".join("l" if not shown[column].map(_is_number).all() else "r" for column in shown)
    plain = shown.map(lambda text: text.replace(MINUS, "-").replace(MISSING, "--"))
    latex = plain.to_latex(index=False, escape=True, column_format=kinds, caption="CAPTION", label=f"tab:{name}")
    escaped = "".join(f"\\{c}" if c in "%&#_$" else c for c in caption.replace(MINUS, "-"))
    return latex.replace("CAPTION", escaped, 1)
