"""What people call our columns, and which of theirs is meant; imports nothing heavy."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from as2lib.data.sets import note

# In lower-case letters and digits.
NAMES = {
    "question_id": ("questionid", "qid", "key"),
    "question": ("question", "query"),
    "answer": ("answer", "sentence", "candidate"),
    "label": ("label",),
    "candidate_id": ("candidateid", "sentenceid"),
}
# Columns of a question's candidates: MS MARCO's passages, DPR's positive_ctxs, positive and negative of triples.
SIDES = re.compile(r"(?=.)((hard)?(pos|neg)(itive|ative)?s?)?(candidates|sentences|passages|documents|contexts|ctxs)?")
SILENT = {"label", "documentid", "documenttitle", "unnamed0", ""}  # WikiQA's, and the row numbers that pandas writes


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none."""


def columns_of(names: Sequence[Any], source: str, labelled: bool) -> dict[str, Any]:
    """Our columns → a source's, of which `Query ID` is `queryid`; those that are not read are said once.

    Raises ValueError where columns hold a question's candidates and none is a label, where two could be one of ours,
    and where question, answer or label is missing: `NoLabels` for the label.
    """
    words = [(name, re.sub(r"[^a-z0-9]", "", str(name).lower())) for name in names]
    sides = [name for name, word in words if SIDES.fullmatch(word)]
    if sides and "label" not in dict(words).values():  # it is of a row's own candidate
        way_out = "docs/own_data.md has the lines of pandas that make such rows"
        raise ValueError(f"{source}: {listed(sides)}: expected a row for each candidate and its label; {way_out}")
    columns = {}
    for column in (column for column in NAMES if labelled or column != "label"):
        matches = [name for name, word in words if word in NAMES[column]]
        if len(matches) > 1:
            raise ValueError(f"{source}: expected one column for {column}, got {listed(matches)}; rename all but one")
        if matches:
            columns[column] = matches[0]
        elif not column.endswith("_id"):
            error, expected = NoLabels if column == "label" else ValueError, listed(NAMES[column])
            raise error(f"{source}: expected a column for {column} ({expected}), got {listed(names) or 'none'}")
    if unread := listed(name for name, word in words if name not in columns.values() and word not in SILENT):
        note(f"{source}: columns that are not read: {unread}")
    return columns


def listed(names: Iterable[Any]) -> str:
    """Names as a message gives them, on one line."""
    return textwrap.shorten(", ".join(map(str, names)), 240, placeholder=" …")


def text_of(value: Any, where: str) -> str:
    """A text as it is; ValueError for what is none, or holds half a character, one surrogate of two."""
    try:
        str.encode(value)
    except (TypeError, UnicodeEncodeError):
        raise ValueError(f"{where}: expected text, got {value!r:.60}") from None
    return value
