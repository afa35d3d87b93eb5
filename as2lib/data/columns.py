"""What people call our columns and classes, and which of theirs is meant; imports nothing heavy."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from as2lib.data.sets import note, shorten

# In lower-case letters and digits.
NAMES = {
    "question_id": "questionid qid queryid topicid key",
    "question": "question query questiontext querytext",
    "answer": "answer sentence candidate passage answertext sentencetext candidatetext passagetext text document",
    "label": "label iscorrect correct isanswer isrelevant relevant relevance rel target isselected hasanswer",
    "candidate_id": "candidateid sentenceid answerid passageid docid pid",
}
# Columns that hold a question's candidates, such as MS MARCO's passages; `answers` are gold ones, of no passage.
LISTS = "candidates sentences passages documents contexts ctxs"
# Those that hold its correct or its incorrect ones, such as DPR's positive_ctxs and hard_negative_ctxs.
SIDES = re.compile(rf"(hard)?(?P<side>pos|neg)(itive|ative)?s?({LISTS.replace(' ', '|')})?")
TEXTS = "text answer candidate sentence passage passagetext document contents"  # what a row of a list calls its text
IDS = "id candidateid docid pid passageid psgid"  # … and its id
SILENT = {"documentid", "documenttitle", "unnamed0", ""}  # WikiQA's, and the row numbers that pandas writes
YES = "correct relevant entailment positive true yes 1 label_1".split()  # names of the class of correct candidates
NO = "incorrect irrelevant contradiction negative false no 0 label_0 wrong".split()
NOT = re.compile(rf"(not?|non|un)_?({'|'.join(YES)})")


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none; `load_unlabelled` reads them."""


@lru_cache(maxsize=1024)  # rows have the same names again and again
def plain(name: Any) -> str:
    """A column's name as it is compared: `Query ID` is `queryid`."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def listed(names: Iterable[Any]) -> str:
    """Names as a message gives them, on one line."""
    return textwrap.shorten(", ".join(map(str, names)), 240, placeholder=" …")


def called(names: Iterable[Any], words: str) -> tuple[Any, ...]:
    """Those of some names that are among these words, in the order of the words."""
    order = words.split()
    return tuple(sorted((name for name in names if plain(name) in order), key=lambda name: order.index(plain(name))))


def side_of(name: Any) -> str | None:
    """Whether a column's name says that it holds correct candidates, "pos", or incorrect ones, "neg"."""
    match = SIDES.fullmatch(plain(name))
    return match and match["side"]


def columns_of(names: Sequence[Any], source: str, labelled: bool) -> dict[str, Any]:
    """Our columns → a source's; those that are not read are said once.

    Raises ValueError where two columns could be the question, the answer or the label (of two ids the first of `NAMES`
    is meant), and where one of these is missing: `NoLabels` for the label.
    """
    columns, missing = {}, []
    for column, words in NAMES.items():
        if column == "label" and not labelled:
            continue
        matches = called(names, words)
        if len(set(matches)) < len(matches) or (len(matches) > 1 and not column.endswith("_id")):
            raise ValueError(f"{source}: expected one column for {column}, got {listed(matches)}; rename all but one")
        if matches:
            columns[column] = matches[0]
        elif column in ("question", "answer", "label"):
            missing.append(f"{column} ({', '.join(words.split()[:4])}, …)")
    if missing:
        error = NoLabels if missing[0].startswith("label") else ValueError
        raise error(f"{source}: expected a column for {'; '.join(missing)}; got {listed(names) or 'none'}")
    silent = SILENT if labelled else {*SILENT, *NAMES["label"].split()}
    say_unread((name for name in names if name not in columns.values() and plain(name) not in silent), source)
    return columns


def say_unread(names: Iterable[Any], source: str) -> None:
    if unread := listed(names):
        note(f"{source}: columns that are not read: {unread}")


def correct_class(names: Sequence[str]) -> int | None:
    """The number of the class whose name means yes, or whose only neighbour's means no; None where no name says."""
    words = [re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_") for name in names]
    yes = [number for number, word in enumerate(words) if word in YES]
    no = [number for number, word in enumerate(words) if word in NO or NOT.fullmatch(word)]
    if len(yes) == 1:
        return yes[0]
    return 1 - no[0] if len(names) == 2 and len(no) == 1 and not yes else None


def lists_of(row: Mapping[Any, Any], where: str) -> list[Any]:
    """The columns of a row that hold its question's candidates; none for a pair.  ValueError where two could."""
    pair = [name for name in called(row, NAMES["answer"]) if isinstance(row[name], str)]
    sides = [name for name in row if side_of(name) and _is_list(row[name])]
    lists = [name for name in called(row, LISTS) if _is_list(row[name]) or (row[name] is None and not pair)]
    if lists and plain(lists[0]) != "candidates":  # the name that we document is meant, whatever stands beside it
        lists += pair
    if len(lists) + bool(sides) > 1:
        raise ValueError(f"{where}: expected one column of candidates, got {listed(lists + sides)}; rename all but one")
    return lists or sides


def question_of(row: Mapping[Any, Any], lists: Sequence[Any], where: str, unread: set[str]) -> list[dict[str, Any]]:
    """The pairs of a row with a question and its candidates in some columns; adds to `unread` what else it has."""
    questions, ids = called(row, NAMES["question"]), called(row, f"{NAMES['question_id']} id")
    text = row[questions[0]] if len(questions) == 1 else None
    candidates = [candidate for name in lists for candidate in _in_list(row[name], name, where)]
    if not (isinstance(text, str) and text.strip()):
        raise ValueError(f'{where}: expected a "question" and a list of "candidates", got {shorten(row)}')
    unread.update(name for name in row if name not in (*lists, *questions, *ids[:1]) and row[name] is not None)
    question = {"question_id": row[ids[0]] if ids else None, "question": text}
    answers = enumerate(candidates, 1)
    return [question | candidate_of(value, f"{where}: candidate {place}", unread) for place, value in answers]


def _is_list(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)  # of NumPy, too


def _in_list(values: Any, name: str, where: str) -> list[Any]:
    """A column's candidates, with the label that its name gives them; MS MARCO has a list for each of their fields."""
    if isinstance(values, Mapping):
        columns = [value.tolist() if hasattr(value, "tolist") else value for value in values.values()]
        if {type(column) for column in columns} != {list} or len({len(column) for column in columns}) > 1:
            raise ValueError(f"{where}: {name}: expected lists of one length, got {shorten(values)}")
        values = [dict(zip(values, fields, strict=True)) for fields in zip(*columns, strict=True)]
    values = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(values, list):
        raise ValueError(f"{where}: {name}: expected a list of candidates, got {shorten(values)}")
    if not (side := side_of(name)):
        return values
    label = {"label": int(side == "pos")}
    return [{**(value if isinstance(value, Mapping) else {"text": value}), **label} for value in values]


def candidate_of(value: Any, where: str, unread: set[str] | None = None) -> dict[str, Any]:
    """A candidate, a text or a row with a text, as a dict of answer and, where it has them, candidate_id and label.

    unread: to which the names of a row's other fields are added.
    """
    if isinstance(value, str):
        return {"answer": text_of(value, where)}
    fields = value if isinstance(value, Mapping) else {}
    names = {"answer": TEXTS, "candidate_id": IDS, "label": NAMES["label"]}
    present = [name for name, field in fields.items() if field is not None]  # Arrow has null for what a row lacks
    matches = {column: called(present, words)[:1] for column, words in names.items()}
    candidate = {column: fields[match[0]] for column, match in matches.items() if match}
    if "answer" not in candidate:
        names = ", ".join(TEXTS.split())
        raise ValueError(f"{where}: expected a text, or a row with one under {names}; got {shorten(value)}")
    if unread is not None:
        unread.update(fields.keys() - {match[0] for match in matches.values() if match})
    return candidate | {"answer": text_of(candidate["answer"], where)}


def text_of(value: Any, where: str) -> str:
    """A text as it is; ValueError for what is none, or holds half a character, one surrogate of two."""
    try:
        str.encode(value)
    except (TypeError, UnicodeEncodeError):
        raise ValueError(f"{where}: expected text, got {shorten(value)}") from None
    return value
