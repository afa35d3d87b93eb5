"""What people call our columns and classes, and which of theirs is meant; imports nothing heavy."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from as2lib.data.sets import note

# In lower-case letters and digits.
NAMES = {
    "question_id": "questionid qid key",
    "question": "question query",
    "answer": "answer sentence candidate",
    "label": "label",
    "candidate_id": "candidateid sentenceid",
}
# Columns of a question's candidates: MS MARCO's passages, DPR's positive_ctxs, positive and negative of triples.
SIDES = re.compile(r"(?=.)((hard)?(pos|neg)(itive|ative)?s?)?(candidates|sentences|passages|documents|contexts|ctxs)?")
TEXTS = "text answer candidate sentence passage passagetext document contents"  # what a candidate calls its text
IDS = "id candidateid docid pid passageid psgid"  # … and its id
SILENT = {"label", "documentid", "documenttitle", "unnamed0", ""}  # WikiQA's, and the row numbers that pandas writes
YES = "correct relevant entailment positive true yes 1 label1".split()  # names of the class of correct candidates
NO = "incorrect irrelevant notcorrect notrelevant notentailment contradiction negative false no 0 label0".split()


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none."""


@lru_cache(maxsize=1024)  # rows have the same names again and again
def plain(name: Any) -> str:
    """A column's name as it is compared: `Query ID` is `queryid`."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def listed(names: Iterable[Any]) -> str:
    """Names as a message gives them, on one line."""
    return textwrap.shorten(", ".join(map(str, names)), 240, placeholder=" …")


def called(names: Iterable[Any], words: str) -> tuple[Any, ...]:
    """Those of some names that are among these words, in the order of the words."""
    return tuple(name for word in words.split() for name in names if plain(name) == word)


def columns_of(names: Sequence[Any], source: str, labelled: bool, nested: Iterable[Any] = ()) -> dict[str, Any]:
    """Our columns → a source's; those that are not read are said once.  nested: the columns that hold lists or dicts.

    Raises ValueError where columns hold a question's candidates, where two could be the question, the answer or the
    label (of two ids the first of `NAMES` is meant), and where one of these is missing: `NoLabels` for the label.
    """
    has_answer = called(names, NAMES["answer"])
    if sides := [name for name in names if SIDES.fullmatch(plain(name)) and (name in nested or not has_answer)]:
        way_out = "docs/own_data.md has the lines of pandas that make such rows"
        raise ValueError(f"{source}: {listed(sides)}: expected a row for each candidate and its label; {way_out}")
    columns = {}
    for column, words in NAMES.items():
        matches = called(names, words) if labelled or column != "label" else ()
        if len(set(matches)) < len(matches) or (len(matches) > 1 and not column.endswith("_id")):
            raise ValueError(f"{source}: expected one column for {column}, got {listed(matches)}; rename all but one")
        if matches:
            columns[column] = matches[0]
    missing = [name for name in ("question", "answer", *["label"] * labelled) if name not in columns]
    if missing:
        ways = "; ".join(f"{name} ({', '.join(NAMES[name].split())})" for name in missing)
        error = NoLabels if missing == ["label"] else ValueError
        raise error(f"{source}: expected a column for {ways}; got {listed(names) or 'none'}")
    if unread := listed(name for name in names if name not in columns.values() and plain(name) not in SILENT):
        note(f"{source}: columns that are not read: {unread}")
    return columns


def class_meant(names: Sequence[Any]) -> int | None:
    """Which of two classes, 0 or 1, is the one of correct candidates by their names; None where they do not say."""
    first, last = map(plain, names)
    zero, one = first in YES or last in NO, last in YES or first in NO
    return None if zero == one else int(one)


def candidate_of(value: Any, where: str) -> dict[str, Any]:
    """A candidate, a text or a row with a text, as a dict of answer and, where it has one, candidate_id."""
    if isinstance(value, str):
        return {"answer": text_of(value, where)}
    fields = value if isinstance(value, Mapping) else {}
    present = [name for name, field in fields.items() if field is not None]
    texts, ids = called(present, TEXTS), called(present, IDS)
    if not texts:
        names = ", ".join(TEXTS.split())
        raise ValueError(f"{where}: expected a text, or a row with one under {names}; got {value!r:.60}")
    candidate = {"answer": text_of(fields[texts[0]], where)}
    return candidate | ({"candidate_id": fields[ids[0]]} if ids else {})


def text_of(value: Any, where: str) -> str:
    """A text as it is; ValueError for what is none, or holds half a character, one surrogate of two."""
    try:
        str.encode(value)
    except (TypeError, UnicodeEncodeError):
        raise ValueError(f"{where}: expected text, got {value!r:.60}") from None
    return value
