"""What people call our columns and classes, and which of theirs is meant; imports nothing heavy."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from as2lib.data.sets import note, shorten

# In lower-case letters and digits.
NAMES = {
    "question_id": "questionid qid queryid topicid key",
    "question": "question query questiontext querytext",
    "answer": "answer sentence candidate passage answertext sentencetext candidatetext passagetext text document",
    "label": "label iscorrect correct isanswer isrelevant relevant relevance rel target",
    "candidate_id": "candidateid sentenceid answerid passageid docid pid",
}
LISTS = "candidates answers sentences passages documents contexts ctxs"  # columns that hold a question's candidates
TEXTS = "text answer candidate sentence passage document"  # what a row of such a list calls its text
IDS = "id candidateid docid pid"  # … and its id
SILENT = {"documentid", "documenttitle", "unnamed0", ""}  # WikiQA's, and the row numbers that pandas writes
YES = "correct relevant entailment positive true yes 1 label_1".split()  # names of the class of correct candidates
NO = "incorrect irrelevant contradiction negative false no 0 label_0 wrong".split()
NOT = re.compile(rf"(not?|non|un)_?({'|'.join(YES)})")


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none; `load_unlabelled` reads them."""


def plain(name: Any) -> str:
    """A column's name as it is compared: `Query ID` is `queryid`."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def listed(names: Iterable[Any]) -> str:
    """Names as a message gives them, on one line."""
    return textwrap.shorten(", ".join(map(str, names)), 240, placeholder=" …")


def called(names: Iterable[Any], words: str) -> list[Any]:
    """Those of some names that are among these words, in the order of the words."""
    order = words.split()
    return sorted((name for name in names if plain(name) in order), key=lambda name: order.index(plain(name)))


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


def list_of(row: Mapping[Any, Any], where: str) -> Any:
    """The column of a row that holds its question's candidates; None for a pair.  ValueError where two could."""
    lists = [name for name in called(row, LISTS) if not isinstance(row[name], str)]
    pair = [name for name in called(row, NAMES["answer"]) if isinstance(row[name], str)]
    if lists and plain(lists[0]) != "candidates":  # the name that we document is meant, whatever stands beside it
        lists += pair
    if len(lists) > 1:
        raise ValueError(f"{where}: expected one column of candidates, got {listed(lists)}; rename all but one")
    return lists[0] if lists else None


def question_of(row: Mapping[Any, Any], column: Any, where: str, source: str) -> tuple[Any, str, list[dict[str, Any]]]:
    """The id (None without one), the text and the candidates of a row; column: of its candidates."""
    questions, ids = called(row, NAMES["question"]), called(row, f"{NAMES['question_id']} id")
    text = row[questions[0]] if len(questions) == 1 else None
    if not (isinstance(text, str) and text.strip() and isinstance(row[column], list)):
        raise ValueError(f'{where}: expected a "question" and a list of "candidates", got {shorten(row)}')
    say_unread((name for name in row if name not in (column, *questions, *ids[:1])), source)
    answers = [candidate_of(value, f"{where}: candidate {place}") for place, value in enumerate(row[column], 1)]
    return row[ids[0]] if ids else None, text, answers


def candidate_of(value: Any, where: str) -> dict[str, Any]:
    """A candidate, a text or a row with a text, as a dict of answer and, where it has them, candidate_id and label."""
    if isinstance(value, str):
        return {"answer": value}
    fields = value if isinstance(value, Mapping) else {}
    names = {"answer": TEXTS, "candidate_id": IDS, "label": NAMES["label"]}
    matches = {column: called(fields, words) for column, words in names.items()}
    candidate = {column: fields[match[0]] for column, match in matches.items() if match}
    if not isinstance(candidate.get("answer"), str):
        raise ValueError(f"{where}: expected a text, got {shorten(value)}")
    return candidate
