"""A table as a reader sees it: labels, one decimal, spreads beside their means; writes no file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from numbers import Integral, Number
from typing import Any

import numpy
import pandas
from pandas.api.types import is_integer_dtype
from pandas.io.formats.style import Styler

MISSING, MINUS = "–", "\u2212"
WIDE = 8  # columns, from which on a table is set in smaller letters
SHORT = 14  # letters, up to which a column of words needs no room to wrap
WORDS = {True: "text-align: left", False: "text-align: left; white-space: normal; min-width: var(--words, 7rem)"}
NUMBER = re.compile(rf"{MISSING}||(< |[{MINUS}+])?[\d,.]+( ± (< )?[\d,.]+)?( [kM%])?")  # as `cell` has it, or none
COUNTED = ("seeds", "questions", "pairs", "correct", "layers", "heads", "units", "wins", "losses", "ties", "row")
SIGNED = ("difference", "low", "high")  # columns, or their last words


def formatted(
    table: pandas.DataFrame, labels: Mapping[str, str], columns: Sequence[str] | None = None, digits: int = 1
) -> pandas.DataFrame:
    """Strings, the index as the first column: run names as `labels` has them, "MAP" and "MAP ±" as "61.2 ± 0.4".

    labels: run name → label; a pair of runs in the index becomes "A − B".
    columns: those to show, in this order, a paper's where the table has them; default: `usual_columns`.  Those without
        any value are left out; where no row has an interval over questions and seeds, that over questions is shown.
    """
    columns = columns or [name for name in usual_columns(table) if name in table and name != "run"]
    without = {*table.columns[(table.isna() | table.eq("")).all()]}
    without |= {name for name in columns if name not in table and is_of_a_paper(name)}
    instead = {name: f"questions {name}" for name in without if f"questions {name}" in table}
    columns = dict.fromkeys(instead.get(name, name) for name in columns)
    rows = "comparison" if table.index.nlevels > 1 else "" if is_integer_dtype(table.index) else "system"
    head = table.index.name if table.index.name not in (None, "run") else rows
    shown = {head: [name_of(key, labels) for key in table.index]}
    for name in columns:
        if name in without or name.endswith(" ±"):
            continue
        shown[name] = [cell(value, name, digits) for value in table[name]]
        if f"{name} ±" in table:
            spreads = [_spread(value, digits) for value in table[f"{name} ±"]]
            both = zip(shown[name], spreads, strict=True)
            shown[name] = [mean if spread == MISSING else f"{mean} ± {spread}" for mean, spread in both]
    return pandas.DataFrame(shown)


def usual_columns(table: pandas.DataFrame) -> list[str]:
    """What a page shows of systems, or of pairs of them, unless a notebook says otherwise; of other tables, all."""
    if table.index.nlevels > 1 and "smallest seen" in table:
        over_questions = ["questions low", "questions high"] if table["low"].isna().any() else []
        return ["difference", "low", "high", *over_questions, "published", "smallest seen", "seeds"]
    systems = ["MAP", "published MAP", "P@1", "published P@1", "operations ×", "cost ×", "parameters", "seeds"]
    return systems if {"MAP", "parameters"} <= {*table} else [*table]


def _spread(value: float, digits: int) -> str:
    """As its mean has it; one that is not zero never looks like it."""
    text = cell(value, "±", digits)
    return f"< {10**-digits:.{digits}f}" if value > 0 and not text.strip("0.") else text


def is_of_a_paper(column: str) -> bool:
    """Whether a table has this column only where something published stands beside it."""
    return "published" in column or column == "verdict"


def name_of(key: Any, labels: Mapping[str, str]) -> str:
    """What a reader calls a run, or a pair of runs: "A − B"."""
    parts = key if isinstance(key, tuple) else (key,)
    return f" {MINUS} ".join(str(labels.get(part, part)) for part in parts)


def cell(value: Any, column: str, digits: int = 1) -> str:
    """One value as its column wants it."""
    if pandas.isna(value) or (column == "verdict" and value == ""):  # which asks for what a paper prints
        return MISSING
    if isinstance(value, bool | numpy.bool_):
        return "yes" if value else "no"
    if not isinstance(value, Number):
        return str(value)
    if column.endswith("parameters"):
        return f"{number(value / 1e6)} M" if value >= 1e6 else f"{number(value / 1e3, 0)} k" if value else "0"
    if "p" in column.split():  # "p Holm", "Wilcoxon p"
        return "< 0.001" if value < 0.001 else number(value, 3)
    digits = 2 if column.endswith("×") else digits
    whole = isinstance(value, Integral) or (column in COUNTED and float(value).is_integer())
    if column.split()[-1] in SIGNED and value:  # rounding never hides on which side of zero a difference is
        return f"{value:+,.{digits}f}".replace("-", MINUS)
    return number(value, 0 if whole else digits)


def number(value: float, digits: int = 1) -> str:
    """ "61.2", "−0.4", "1,234.5"; "0.0" also for what rounds to it from below."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", MINUS)


def as_html(shown: pandas.DataFrame, caption: str, name: str, title: str = "", folded: bool = False) -> str:
    """A table of strings, its first column each row's heading, below its caption in a box that scrolls.

    caption: HTML.  name: its id.  title: such as "Table 3.1".  folded: whether its rows are shown on a click only.
    """
    heads, body = shown.iloc[:, 0], shown.iloc[:, 1:]
    body = body.set_axis(pandas.Index(heads.to_numpy(), name=None), axis=0)
    body = body.rename_axis(columns=escape(str(heads.name)))
    styles = [{"selector": "th:first-child", "props": "text-align: left"}]
    for place, column in enumerate(body, start=2):
        if not _are_numbers(body[column]):
            selector = f"th:nth-child({place}), td:nth-child({place})"
            styles.append({"selector": selector, "props": WORDS[_are_short(body[column])]})
    styler = Styler(body, uuid=name, cell_ids=False).format(escape="html").set_table_styles(styles)
    styler = styler.format_index(escape="html").format_index(escape="html", axis="columns")
    classes = {"wide": len(shown.columns) >= WIDE, "short": _are_short(heads)}
    styler = styler.set_table_attributes(f'class="{" ".join(name for name in classes if classes[name])}"')
    grid = styler.to_html().replace('<th class="row_heading', '<th scope="row" class="row_heading')
    grid = re.sub(r'(<t[hd](?: scope="row")?) class="[^"]*"', r"\1", grid)  # pandas' own, of each cell
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="{title or "Table"}">{grid}</div>'
    if folded:
        box = f'<details class="long"><summary>{title}: its {len(shown)} rows</summary>{box}</details>'
    return f'<div class="as2-table"><p>{caption}</p>{box}</div>'


def _are_numbers(texts: Iterable[str]) -> bool:
    return all(NUMBER.fullmatch(text) for text in texts)


def _are_short(texts: Iterable[str]) -> bool:
    return all(len(text) <= SHORT for text in texts)


def as_latex(shown: pandas.DataFrame, caption: str, name: str) -> str:
    """A table environment with its caption and label, for `booktabs`."""
    kinds = "".join("r" if _are_numbers(shown[column]) else "l" for column in shown)
    plain = shown.map(lambda text: text.replace(MINUS, "-").replace(MISSING, "--"))
    escaped = "".join(f"\\{c}" if c in "%&#_$" else c for c in caption.replace(MINUS, "-"))
    return plain.to_latex(index=False, escape=True, column_format=kinds, caption=escaped, label=f"tab:{name}")
