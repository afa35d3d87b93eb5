"""Reads rows of any source into checked Arrow tables under our column names; knows no set by name, and no policy."""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from datasets import Dataset

from as2lib.data.sets import NoSplit, note, shorten, whole_text

# What people call our columns, in lower-case letters and digits; of two in one source the first here counts.
NAMES = {
    "question_id": "questionid qid queryid topicid key",
    "question": "question query questiontext querytext",
    "answer": "answer sentence candidate passage answertext sentencetext candidatetext passagetext text document",
    "label": "label iscorrect correct isanswer isrelevant relevant relevance rel target",
    "candidate_id": "candidateid sentenceid answerid passageid docid pid",
}
# Columns that are passed over in silence: WikiQA's, and the row numbers that pandas writes.
_SILENT = {"documentid", "documenttitle", "unnamed0"}
_BATCH = 8192  # rows checked at once

Table = tuple[str, int, pa.Table]  # a file's name, how many of its rows come before, the rows under our names


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none; `load_unlabelled` reads them."""


def checked(
    tables: Iterable[Table], name: str, labelled: bool, apart: bool = True, run_ids: str | None = None
) -> Iterator[pa.Table]:
    """The tables of one set with our types, if it keeps every rule; each is tested on whole columns.

    A text is neither empty nor blank; a label is 0 or 1, true or false; a question_id has one question text.
    apart: whether the rows of a question may lie apart.  run_ids: where ids are missing, each run of equal questions
    gets `<run_ids>-1`, …; None: equal questions get one id, a hash of their text that no file's own ids are.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    questions, empty = _Questions(apart, run_ids), True
    for file, first, table in tables:
        if not len(table):
            continue
        empty = False

        def where(row: int, file: str = file, first: int = first) -> str:
            return f"{file}, row {first + row + 1}"

        columns = {key: _text(table[key], key, where) for key in NAMES if key != "label" and key in table.column_names}
        columns["question_id"] = questions.ids(columns.get("question_id"), columns["question"], where)
        if labelled:
            columns["label"] = _labels(table["label"], where)
        yield pa.table({key: columns[key] for key in NAMES if key in columns})
    if empty:
        raise ValueError(f"{name}: expected at least one row, got none")


class _Questions:
    """The questions of a set, table by table: the id of each, and the row that it begins at."""

    def __init__(self, apart: bool, run_ids: str | None):
        self.apart, self.run_ids = apart, run_ids
        self.first: dict[str, tuple[str, str]] = {}  # question_id → (its text, its first row)
        self.last: tuple[str, str] | None = None  # question_id and text of the row before
        self.runs = 0

    def ids(self, ids: pa.ChunkedArray | None, texts: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
        """The ids of a table's rows, as they are, or else new ones.  Raises ValueError as `checked` does."""
        begins = run_starts(texts) if ids is None else run_starts(texts) | run_starts(ids)
        rows = np.flatnonzero(begins)
        starts = pa.array(rows)
        run_texts = texts.take(starts).to_pylist()
        run_ids = [None] * len(rows) if ids is None else ids.take(starts).to_pylist()
        for run, (row, text) in enumerate(zip(rows.tolist(), run_texts, strict=True)):
            run_ids[run] = run_ids[run] or self._new_id(text)
            if (run_ids[run], text) != self.last:
                self._begin(run_ids[run], text, where(row))
            self.last = (run_ids[run], text)
        if ids is not None:
            return ids
        sizes = np.diff(np.append(rows, len(texts)))
        return pa.chunked_array([np.repeat(np.array(run_ids, object), sizes)], pa.string())

    def _new_id(self, text: str) -> str:
        if self.run_ids is None:
            return f"q-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self.runs += self.last is None or text != self.last[1]
        return f"{self.run_ids}-{self.runs}"

    def _begin(self, question_id: str, text: str, row: str) -> None:
        first_text, first_row = self.first.setdefault(question_id, (text, row))
        if first_text != text:
            raise ValueError(
                f"{row}: expected one question a question_id, got {shorten(question_id)} for {shorten(text)}, after "
                f"{shorten(first_text)} in {first_row}; give each its own id"
            )
        if first_row != row and not self.apart:
            raise ValueError(
                f"{row}: expected the rows of a question together, got question_id {shorten(question_id)} again, "
                f"first in {first_row}; sort the rows by question"
            )


def _text(column: pa.ChunkedArray, key: str, where: Callable[[int], str]) -> pa.ChunkedArray:
    """A column as texts, of which none is blank."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (number or any(test(kind) for test in _TEXTS)):
        raise ValueError(f"{where(0)}: {key}: expected text, got a column of type {kind!s:.60}")
    try:
        column = column.cast(kind)
        column.validate(full=True)
        column = column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [text or b"" for text in column.cast(pa.binary()).to_pylist()]
        row = next((row for row, text in enumerate(texts) if text.decode(errors="ignore").encode() != text), 0)
        raise ValueError(f"{where(row)}: {key}: expected UTF-8 text, got other bytes") from None
    blank = pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0))
    row = pc.index(pc.fill_null(blank, True), True).as_py()
    if row >= 0:
        raise ValueError(
            f"{where(row)}: {key}: expected text, got {_shown(column[row].as_py())}; fill it in or leave the row out"
        )
    return column


_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)


def _labels(column: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
    try:
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
    except pa.ArrowException:
        raise ValueError(f"{where(0)}: label: expected 0 or 1, got a column of type {column.type!s:.60}") from None
    zeros, ones = (
        pc.is_in(texts, value_set=pa.array(words)) for words in (["0", "0.0", "false"], ["1", "1.0", "true"])
    )
    row = pc.index(pc.or_(zeros, ones), False).as_py()
    if row >= 0:
        text = column[row].as_py()
        grade = re.fullmatch(r"[2-9]|1[0-9]", str(text).removesuffix(".0"))
        way_out = "; of grades, write 1 for those that count as correct, 0 for the others" if grade else ""
        raise ValueError(f"{where(row)}: label: expected 0 or 1 (or true, false), got {_shown(text)}{way_out}")
    return ones.cast(pa.int8())


def _shown(value: Any) -> str:
    return "nothing" if value in (None, "") else shorten(value)


def _texts(values: Sequence[Any], key: str, name: str, first: int) -> pa.Array:
    """Values from Python as an Arrow column of texts: numbers as they are written, None and NaN as null."""
    texts = []
    for row, value in enumerate(values, first + 1):
        if isinstance(value, str):
            texts.append(value)
        elif value is None or value is pd.NA or (isinstance(value, float | np.floating) and np.isnan(value)):
            texts.append(None)
        elif key == "label" or (isinstance(value, int | float | np.number) and not isinstance(value, bool)):
            texts.append(str(value))
        else:
            raise ValueError(f"{name}, row {row}: {key}: expected text, got {shorten(value)}")
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # half a character of two
        return pa.array([text and whole_text(text) for text in texts], pa.string())


def together(tables: Iterable[pa.Table], name: str) -> pa.Table:
    """The tables as one, the rows of a question side by side, in the order in which questions first come."""
    table = pa.concat_tables(tables)
    question = pd.factorize(table["question_id"].to_pandas())[0]
    if np.all(np.diff(question) >= 0):
        return table
    note(f"{name}: the rows of each question are brought together, in their order")
    return table.take(pa.array(np.argsort(question, kind="stable")))


def in_memory(source: Any, split: str | None, labelled: bool) -> pa.Table:
    """The checked pairs of a list of dicts, a table or a `Dataset`, or of one split of a mapping to these."""
    name = "pairs"
    if isinstance(source, Mapping):
        if split not in source:
            raise NoSplit(f"{name}: expected one of the splits {', '.join(map(str, source))}, got {split}")
        source, name, split = source[split], split, None
    if split is not None:
        raise NoSplit(f'{name}: pairs in memory have no splits, got split "{split}"; leave the split out')
    if isinstance(source, Dataset):
        source = source.with_format("arrow")[:]
    if isinstance(source, pa.Table):
        tables = [(0, selected(source, name, labelled))]
    elif isinstance(source, pd.DataFrame):
        columns = _columns(list(source.columns), name, labelled)
        texts = {ours: _texts(source[its].tolist(), ours, name, 0) for ours, its in columns.items()}
        tables = [(0, pa.table(texts))]
    elif isinstance(source, Sequence) and not isinstance(source, str | bytes) and len(source):
        tables = _of_dicts(source, name, labelled)
    else:
        raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset with rows, got {shorten(source)}")
    return together(checked(((name, *table) for table in tables), name, labelled), name)


# Files: each reader gives the number of rows before a table, and the table under our column names


def read(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """The columns that we need of one TSV, CSV, JSONL or Parquet file, unchecked, some thousand rows a table.

    Raises ValueError for bytes that are not UTF-8, a row of another length, a quote left open, or missing columns.
    """
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name}: expected at least one row, got an empty file")
    if path.suffix.lower() == ".parquet":
        yield from _parquet(path, labelled)
        return
    try:
        if path.suffix.lower() == ".jsonl":
            with path.open(encoding="utf-8-sig", newline="\n") as stream:
                yield from _of_dicts(_json_rows(path.name, stream), path.name, labelled)
        else:
            yield from _delimited(path, labelled)
    except UnicodeDecodeError:
        raise _not_utf8(path) from None


def _parquet(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    try:
        with parquet.ParquetFile(path) as file:
            columns = _columns(file.schema_arrow.names, path.name, labelled)
            first = 0
            for batch in file.iter_batches(_BATCH, columns=list(columns.values())):
                table = pa.Table.from_batches([batch]).select(list(columns.values()))
                yield first, table.rename_columns(list(columns))
                first += len(table)
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"{path.name}: expected a Parquet file, got {problem}") from None


def _delimited(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """A CSV, quoted as RFC 4180 has it, between commas or semicolons; or a TSV.

    A TSV has a row a line, and a quote is text; but a field that pandas' `to_csv(sep="\t")` would have quoted, and that
    is written as it does (between quotes, each quote in it doubled), is read as the text that pandas had.
    """
    rows = _quoted_rows(path) if path.suffix.lower() == ".csv" or _has_quoted_breaks(path) else _tsv_rows(path)
    header = next(rows, [])
    columns = {ours: header.index(its) for ours, its in _columns(header, path.name, labelled).items()}
    first = 0
    while batch := list(islice(rows, _BATCH)):
        for row, fields in enumerate(batch, first + 1):
            if len(fields) != len(header):
                wanted = f"{len(header)} fields ({_listed(header)})"
                raise ValueError(f"{path.name}, row {row}: expected {wanted}, got {len(fields)}")
        yield first, pa.table({ours: [fields[place] for fields in batch] for ours, place in columns.items()})
        first += len(batch)


def _tsv_rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        for line in stream:
            if line := line.rstrip("\r\n"):
                fields = line.split("\t")
                yield [_unquoted(field) for field in fields] if '"' in line else fields


def _unquoted(field: str) -> str:
    """A field as pandas had it, if it wrote it between quotes for a quote or a carriage return in it."""
    if field[:1] == '"' and re.fullmatch(r'"(?:[^"]|"")*"', field) and ('""' in field[1:-1] or "\r" in field):
        return field[1:-1].replace('""', '"')
    return field


def _has_quoted_breaks(path: Path) -> bool:
    """Whether a TSV's quotes hold tabs or line breaks: its lines are no rows, but are when they are read as a CSV's.

    So it is where all fields are quoted, those of the header too.
    """
    with path.open("rb") as stream:
        header = stream.readline().removeprefix(b"\xef\xbb\xbf")
        if header.startswith(b'"'):
            return True
        tabs = header.count(b"\t")
        if all(line.count(b"\t") == tabs or not line.strip(b"\r\n") for line in stream):
            return False
    try:
        return all(len(fields) == tabs + 1 for fields in _quoted_rows(path))
    except ValueError:
        return False


def _quoted_rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)  # of this process: a field may be a whole page
    with path.open(encoding="utf-8-sig", newline="") as stream:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;", key=stream.readline().count)
        stream.seek(0)
        number, width = 0, 0
        try:
            for fields in csv.reader(stream, delimiter=delimiter, strict=True):
                if not fields:  # a blank line
                    continue
                width = width or len(fields)
                if delimiter == "\t" and any(field.count("\t") >= width - 1 and "\n" in field for field in fields):
                    raise csv.Error("a field that holds whole rows, for its quote is not closed where it should be")
                yield fields
                number += 1
        except csv.Error as error:
            wanted = "a field with quotes to stand between quotes, and each quote in it to be doubled"
            where = f"{path.name}, row {number}" if number else f"{path.name}, header"
            raise ValueError(f"{where}: expected {wanted}, got {error}") from None


def _json_rows(name: str, lines: Iterable[str]) -> Iterator[Any]:
    for row, line in enumerate(filter(str.strip, lines), 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}, row {row}: expected a JSON object, got {shorten(str(error))}") from None


def _of_dicts(rows: Iterable[Any], name: str, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """Tables of rows that are dicts, under the columns of the first."""
    rows, columns, first = iter(rows), None, 0
    while batch := list(islice(rows, _BATCH)):
        for row, values in enumerate(batch, first + 1):
            if not isinstance(values, Mapping):
                raise ValueError(
                    f"{name}, row {row}: expected an object with {_wanted(labelled)}, got {shorten(values)}"
                )
        columns = columns or _columns(list(batch[0]), name, labelled)
        texts = {ours: [values.get(its) for values in batch] for ours, its in columns.items()}
        yield first, pa.table({ours: _texts(values, ours, name, first) for ours, values in texts.items()})
        first += len(batch)


def _not_utf8(path: Path) -> ValueError:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where, byte = f"{path.name}, line {number}", line[error.start]
                return ValueError(f"{where}: expected UTF-8 text, got the byte 0x{byte:02x}; save the file as UTF-8")
    return ValueError(f"{path.name}: expected UTF-8 text")


def selected(table: pa.Table, name: str, labelled: bool) -> pa.Table:
    """The columns of a table that we need, under our names."""
    columns = _columns(table.column_names, name, labelled)
    return table.select(list(columns.values())).rename_columns(list(columns))


def _columns(names: Sequence[Any], name: str, labelled: bool) -> dict[str, Any]:
    """Our columns → theirs; those that nobody needs are said once.

    Raises ValueError that names what is missing: `NoLabels` where it is the label.
    """
    theirs: dict[str, Any] = {}
    for their in names:
        theirs.setdefault(re.sub(r"[^a-z0-9]", "", str(their).lower()), their)
    columns = {}
    for ours, words in NAMES.items():
        their = next((theirs[word] for word in words.split() if word in theirs), None)
        if their is not None and (labelled or ours != "label"):
            columns[ours] = their
    missing = [ours for ours in ("question", "answer", "label")[: 3 if labelled else 2] if ours not in columns]
    if missing:
        wanted = "; ".join(f"{ours} ({', '.join(NAMES[ours].split()[:4])}, …)" for ours in missing)
        error = NoLabels if missing == ["label"] else ValueError
        raise error(f"{name}: expected a column for {wanted}; got {_listed(names) or 'none'}")
    if twice := [their for their in columns.values() if list(names).count(their) > 1]:
        raise ValueError(f"{name}: expected each column once, got {_listed(twice)} again")
    silent = _SILENT if labelled else {*_SILENT, *NAMES["label"].split()}
    unused = [their for plain, their in theirs.items() if their not in columns.values() and plain not in silent]
    if unused := [their for their in unused if their != ""]:
        note(f"{name}: columns that are not read: {_listed(unused)}")
    return columns


def _wanted(labelled: bool) -> str:
    return "a question, an answer and a label" if labelled else "a question and an answer"


def _listed(names: Iterable[Any]) -> str:
    """Names as an error gives them: on one line, each of at most 60 characters, the first twelve."""
    names = [str(name) for name in islice(names, 13)]
    short = [name if name.isprintable() and len(name) <= 60 else shorten(name) for name in names]
    return ", ".join([*short[:12], *["…"] * (len(short) > 12)])


def run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())
