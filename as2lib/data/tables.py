"""Reads rows of any source into checked Arrow tables under our column names; knows no set by name, and no policy."""

import csv
import hashlib
import io
import re
import textwrap
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

from as2lib.data.sets import NoSplit, json_value, note, shorten, whole_text

# What people call our columns, in lower-case letters and digits; of two in one source the first here counts.
NAMES = {
    "question_id": "questionid qid queryid topicid key",
    "question": "question query questiontext querytext",
    "answer": "answer sentence candidate passage answertext sentencetext candidatetext passagetext text document",
    "label": "label iscorrect correct isanswer isrelevant relevant relevance rel target",
    "candidate_id": "candidateid sentenceid answerid passageid docid pid",
}
# Columns that are passed over in silence: WikiQA's, and the row numbers that pandas writes.
_SILENT = {"documentid", "documenttitle", "unnamed0", ""}
_BATCH = 8192  # rows checked at once

Table = tuple[str, int, pa.Table]  # a file's name, how many of its rows come before, the rows under our names


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none; `load_unlabelled` reads them."""


# Rules


def checked(
    tables: Iterable[Table], name: str, labelled: bool, apart: bool = True, run_ids: str | None = None
) -> Iterator[pa.Table]:
    """The tables of one set with our types, if it keeps every rule; each is tested on whole columns.

    A question or an id is not blank; a label is 0 or 1, true or false; a question_id has one question text. An answer
    may be empty, and how many are is said once.
    apart: whether the rows of a question may lie apart.  run_ids: where ids are missing, each run of equal questions
    gets `<run_ids>-1`, …; None: equal questions get one id, a hash of their text that no file's own ids are.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    questions, rows, empty = _Questions(apart, run_ids), 0, 0
    for file, first, table in tables:
        if not len(table):
            continue

        def where(row: int, file: str = file, first: int = first) -> str:
            return f"{file}, row {first + row + 1}"

        columns = {key: _text(table[key], key, where) for key in NAMES if key != "label" and key in table.column_names}
        for key in columns:
            blank = _blank(columns[key])
            if key == "answer":
                empty += pc.sum(blank).as_py()
                columns[key] = pc.fill_null(columns[key], "")
            elif (row := pc.index(blank, True).as_py()) >= 0:
                value = _shown(columns[key][row].as_py())
                raise ValueError(f"{where(row)}: {key}: expected text, got {value}; fill it in or leave the row out")
        columns["question_id"] = questions.ids(columns.get("question_id"), columns["question"], where)
        if labelled:
            columns["label"] = _labels(table["label"], where)
        rows += len(table)
        yield pa.table({key: columns[key] for key in NAMES if key in columns})
    if not rows:
        raise ValueError(f"{name}: expected at least one row, got none")
    if empty:
        note(f"{name}: {empty:,} answers are empty: they are kept, and scored as empty texts")


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
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        raise ValueError(f"{where(0)}: {key}: expected text, got a column of type {column.type!s:.60}") from None


def _blank(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0)), True)


def _labels(column: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(_text(column, "label", where)))
    zeros = pc.is_in(texts, value_set=pa.array(["0", "0.0", "false"]))
    ones = pc.is_in(texts, value_set=pa.array(["1", "1.0", "true"]))
    row = pc.index(pc.or_(zeros, ones), False).as_py()
    if row >= 0:
        text = column[row].as_py()
        grade = re.fullmatch(r"[2-9]|1[0-9]", str(text).removesuffix(".0"))
        way_out = "; of grades, write 1 for those that count as correct, 0 for the others" if grade else ""
        raise ValueError(f"{where(row)}: label: expected 0 or 1 (or true, false), got {_shown(text)}{way_out}")
    return ones.cast(pa.int8())


def _shown(value: Any) -> str:
    return "nothing" if value in (None, "") else shorten(value)


def together(tables: Iterable[pa.Table], name: str) -> pa.Table:
    """The tables as one, the rows of a question side by side, in the order in which questions first come."""
    table = pa.concat_tables(tables)
    question = pd.factorize(table["question_id"].to_pandas())[0]
    if np.all(np.diff(question) >= 0):
        return table
    note(f"{name}: the rows of each question are brought together, in their order")
    return table.take(pa.array(np.argsort(question, kind="stable")))


# Columns


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
    if unused := [their for plain, their in theirs.items() if their not in columns.values() and plain not in silent]:
        note(f"{name}: columns that are not read: {_listed(unused)}")
    return columns


def _listed(names: Iterable[Any]) -> str:
    """Names as a message gives them, on one line."""
    return textwrap.shorten(", ".join(map(str, names)), 240, placeholder=" …")


def run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())


# Rows in memory


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
        tables = [(0, pa.table({ours: _texts(source[its], ours, name, 0) for ours, its in columns.items()}))]
    elif isinstance(source, Sequence) and not isinstance(source, str | bytes):
        tables = _of_dicts(source, name, labelled)
    else:
        raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset, got {shorten(source)}")
    return together(checked(((name, *table) for table in tables), name, labelled), name)


def _of_dicts(rows: Iterable[Any], name: str, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """Tables of rows that are dicts, under the columns of the first, each with the number of rows before it."""
    rows, columns, first = iter(rows), None, 0
    while batch := list(islice(rows, _BATCH)):
        for row, values in enumerate(batch, first + 1):
            if not isinstance(values, Mapping):
                wanted = f"a question, an answer{' and a label' if labelled else ''}"
                raise ValueError(f"{name}, row {row}: expected an object with {wanted}, got {shorten(values)}")
        columns = columns or _columns(list(batch[0]), name, labelled)
        texts = {ours: [values.get(its) for values in batch] for ours, its in columns.items()}
        yield first, pa.table({ours: _texts(values, ours, name, first) for ours, values in texts.items()})
        first += len(batch)


def _texts(values: Iterable[Any], key: str, name: str, first: int) -> pa.Array:
    """Values from Python as an Arrow column of texts: numbers as they are written, None and NaN as null."""
    texts = []
    for row, value in enumerate(values, first + 1):
        if isinstance(value, str):
            texts.append(value)
        elif not pd.api.types.is_scalar(value) or isinstance(value, bytes):
            raise ValueError(f"{name}, row {row}: {key}: expected text, got {shorten(value)}")
        else:
            texts.append(None if pd.isna(value) else str(value))
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # half a character of two
        return pa.array([text and whole_text(text) for text in texts], pa.string())


# Files


def read(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """The columns that we need of one TSV, CSV, JSONL or Parquet file, unchecked, some thousand rows a table.

    Gives each table with the number of rows before it.
    Raises ValueError for bytes that are not UTF-8, a row of another length, a quote left open, or missing columns.
    """
    suffix = path.suffix.lower()
    try:
        if path.stat().st_size == 0:
            raise ValueError(f"{path.name}: expected at least one row, got an empty file")
        if suffix == ".parquet":
            yield from _parquet(path, labelled)
        elif suffix == ".jsonl":
            with path.open(encoding="utf-8-sig", newline="\n") as stream:
                rows = (content for _, content in json_rows(path.name, stream))
                yield from _of_dicts(rows, path.name, labelled)
        else:
            yield from _delimited(path, labelled)
    except UnicodeDecodeError:
        raise not_utf8(path) from None


def _parquet(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    try:
        with parquet.ParquetFile(path) as file:
            columns, first = _columns(file.schema_arrow.names, path.name, labelled), 0
            for batch in file.iter_batches(_BATCH, columns=list(columns.values())):
                table = pa.Table.from_batches([batch]).select(list(columns.values()))
                yield first, table.rename_columns(list(columns))
                first += len(table)
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"{path.name}: expected a Parquet file, got {problem}") from None


def _delimited(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """A CSV, quoted as RFC 4180 has it, between commas or semicolons; or a TSV: a row a line, where a quote is text.

    But a TSV with the quotes that pandas writes is read as the texts that pandas had.
    """
    rows = _quoted_rows(path) if path.suffix.lower() == ".csv" or _is_written_as_csv(path) else _plain_rows(path)
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


def _plain_rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        yield from (line.rstrip("\r\n").split("\t") for line in stream if line.strip("\r\n"))


def _quoted_rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)  # of this process: a field may be a whole page
    with path.open(encoding="utf-8-sig", newline="") as stream:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;", key=stream.readline().count)
        stream.seek(0)
        number = 0
        try:
            for fields in csv.reader(stream, delimiter=delimiter, strict=True):
                if fields:  # no blank line
                    yield fields
                    number += 1
        except csv.Error as error:
            wanted = "a field with quotes to stand between quotes, and each quote in it to be doubled"
            where = f"{path.name}, row {number}" if number else f"{path.name}, header"
            raise ValueError(f"{where}: expected {wanted}, got {error}") from None


def _is_written_as_csv(path: Path) -> bool:
    """Whether a TSV is, byte for byte, what a writer of CSV makes of its rows: quotes where needed, or everywhere.

    Not where a field holds a whole row: its quote is a text's, and was never closed.
    """
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8-sig", newline="") as stream, path.open(encoding="utf-8-sig", newline="") as original:
        header = stream.readline()
        stream.seek(0)
        quoting = csv.QUOTE_ALL if header.startswith('"') else csv.QUOTE_MINIMAL
        end = "\r\n" if header.endswith("\r\n") else "\n"
        try:
            for fields in csv.reader(stream, delimiter="\t", strict=True):
                if any("\n" in field and field.count("\t") >= header.count("\t") for field in fields):
                    return False
                row = io.StringIO(newline="")
                csv.writer(row, delimiter="\t", lineterminator=end, quoting=quoting).writerow(fields)
                if original.read(len(row.getvalue())).rstrip("\r\n") != row.getvalue().rstrip("\r\n"):
                    return False
        except csv.Error:
            return False
    return True


def json_rows(name: str, lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The values of JSON lines, each with what to call its row; ValueError names the row that is no JSON."""
    for row, line in enumerate(filter(str.strip, lines), 1):
        where = f"{name}, row {row}"
        yield where, json_value(where, line)


def not_utf8(path: Path) -> ValueError:
    """What is wrong with a file whose bytes are not all UTF-8: the first such line."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where, byte = f"{path.name}, line {number}", line[error.start]
                return ValueError(f"{where}: expected UTF-8 text, got the byte 0x{byte:02x}; save the file as UTF-8")
    return ValueError(f"{path.name}: expected UTF-8 text")
