"""Reads rows of any source into checked Arrow tables under our column names; knows no set by name, and no policy."""

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as parquet
from datasets import ClassLabel, Dataset, Features

from as2lib.data.classes import correct_class
from as2lib.data.columns import NAMES, columns_of, list_of, listed, question_of
from as2lib.data.sets import NoSplit, json_value, note, shorten, whole_text
from as2lib.metrics.questions import Questions

BATCH = 8192  # rows checked at once
BLOCK = 1 << 25  # bytes of a CSV read at once, and of a row at most

Table = tuple[str, Sequence[int], pa.Table]  # a file's name, the numbers of the rows from 1, the rows under our names


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
    for file, numbers, table in tables:
        if not len(table):
            continue

        def where(row: int, file: str = file, numbers: Sequence[int] = numbers) -> str:
            return f"{file}, row {numbers[row]}"

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
        runs = Questions.beginning(begins)
        rows, starts = runs.starts, pa.array(runs.starts)
        run_texts = texts.take(starts).to_pylist()
        run_ids = [None] * len(rows) if ids is None else ids.take(starts).to_pylist()
        for run, (row, text) in enumerate(zip(rows.tolist(), run_texts, strict=True)):
            run_ids[run] = run_ids[run] or self._new_id(text)
            if (run_ids[run], text) != self.last:
                self._begin(run_ids[run], text, where(row))
            self.last = (run_ids[run], text)
        if ids is not None:
            return ids
        return pa.chunked_array([np.repeat(np.array(run_ids, object), runs.sizes)], pa.string())

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
    """The columns of a table that we need, under our names; labels that are classes as 0 and 1."""
    columns = columns_of(table.column_names, name, labelled)
    ours = table.select(list(columns.values())).rename_columns(list(columns))
    names = _class_names(table.schema, columns.get("label"))
    if names is None:
        return ours
    correct = correct_class(names) if len(names) == 2 else None
    if correct is None:
        raise ValueError(f"{name}: label: expected two classes, such as incorrect and correct, got {listed(names)}")
    place = ours.column_names.index("label")
    return ours.set_column(place, "label", pc.equal(ours["label"], correct))


def _class_names(schema: pa.Schema, column: str | None) -> list[str] | None:
    """The names of a column's classes, where `datasets` says in a schema that it has some."""
    if b"huggingface" not in (schema.metadata or {}):
        return None
    feature = Features.from_arrow_schema(schema).get(column)
    return feature.names if isinstance(feature, ClassLabel) else None


def questions_of(table: pa.Table) -> Questions:
    """The questions of a table, whose rows stand together."""
    return Questions.beginning(run_starts(table["question_id"]))


def run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())


# Rows in memory


def in_memory(source: Any, split: str | None, labelled: bool) -> pa.Table:
    """The checked pairs of a list of dicts, a table or a `Dataset`, or of one split of a mapping to these."""
    name = "pairs"
    if isinstance(source, Mapping):
        aliases = ("dev", "validation") if split in ("dev", "validation") else (split,)
        key = next((key for key in aliases if key in source), None)
        if key is None:
            raise NoSplit(f"{name}: expected one of the splits {', '.join(map(str, source))}, got {split}")
        source, name, split = source[key], key, None
    if split is not None:
        raise NoSplit(f'{name}: pairs in memory have no splits, got split "{split}"; leave the split out')
    if isinstance(source, Dataset):
        features = source.features
        source = source.with_format("arrow")[:]
        source = source.replace_schema_metadata(features.arrow_schema.metadata)
    if isinstance(source, pa.Table):
        tables = [numbered(name, selected(source, name, labelled))]
    elif isinstance(source, pd.DataFrame):
        columns = columns_of(list(source.columns), name, labelled)
        table = pa.table({ours: _texts(source[its], ours, name) for ours, its in columns.items()})
        tables = [numbered(name, table)]
    elif isinstance(source, Sequence) and not isinstance(source, str | bytes):
        tables = _of_dicts(source, name, labelled)
    else:
        raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset, got {shorten(source)}")
    return together(checked(tables, name, labelled), name)


def numbered(name: str, table: pa.Table, before: int = 0) -> Table:
    """A table with the numbers of its rows, so many of which come before it."""
    return name, range(before + 1, before + len(table) + 1), table


def _of_dicts(rows: Iterable[Any], name: str, labelled: bool) -> Iterator[Table]:
    """Tables of rows that are dicts, each a pair or a question with the list of its candidates."""
    pairs_and_rows, columns = _pairs_of_rows(rows, name, labelled), None
    while batch := list(islice(pairs_and_rows, BATCH)):
        numbers, pairs = zip(*batch, strict=True)
        columns = columns or columns_of(list(pairs[0]), name, labelled)
        texts = {ours: [pair.get(its) for pair in pairs] for ours, its in columns.items()}
        yield name, numbers, pa.table({ours: _texts(values, ours, name, numbers) for ours, values in texts.items()})


def _pairs_of_rows(rows: Iterable[Any], name: str, labelled: bool) -> Iterator[tuple[int, Mapping[Any, Any]]]:
    """Pairs with the number of the row that each comes from; the id of a question whose row has none is that number."""
    wanted = f"an object with a question, an answer{' and a label' if labelled else ''}"
    with_ids = None
    for number, row in enumerate(rows, 1):
        where = f"{name}, row {number}"
        if not isinstance(row, Mapping):
            raise ValueError(f"{where}: expected {wanted}, got {shorten(row)}")
        try:
            is_pair = list_of(row) is None
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        if is_pair:
            yield number, row
            continue
        identity, text, candidates = question_of(row, where, name)
        with_ids = identity is not None if with_ids is None else with_ids
        if with_ids != (identity is not None):
            raise ValueError(f"{where}: expected each row to have an id, or none; those before are otherwise")
        for candidate in candidates:
            yield number, {"question_id": str(number) if identity is None else identity, "question": text, **candidate}


def _texts(values: Iterable[Any], key: str, name: str, numbers: Iterable[int] | None = None) -> pa.Array:
    """Values from Python as an Arrow column of texts: numbers as they are written, None and NaN as null."""
    texts = []
    for row, value in zip(numbers or count(1), values, strict=False):
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


def read(path: Path, labelled: bool) -> Iterator[Table]:
    """The columns that we need of one TSV, CSV, JSONL or Parquet file, unchecked, some thousand rows a table.

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


def _parquet(path: Path, labelled: bool) -> Iterator[Table]:
    try:
        with parquet.ParquetFile(path) as file:
            columns, before = columns_of(file.schema_arrow.names, path.name, labelled), 0
            for batch in file.iter_batches(BATCH, columns=list(columns.values())):
                table = pa.Table.from_batches([batch], batch.schema.with_metadata(file.schema_arrow.metadata))
                yield numbered(path.name, selected(table, path.name, labelled), before)
                before += len(table)
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"{path.name}: expected a Parquet file, got {problem}") from None


def _delimited(path: Path, labelled: bool) -> Iterator[Table]:
    """A CSV, quoted as RFC 4180 has it, between commas or semicolons; or a TSV: a row a line, where a quote is text.

    But a TSV with the quotes that pandas writes is read as the texts that pandas had.
    """
    with path.open(encoding="utf-8-sig", newline="") as stream:
        first = next((line for line in stream if line.strip("\r\n")), "")
    is_tsv = path.suffix.lower() == ".tsv"
    delimiter = "\t" if is_tsv else max(",;", key=first.count)
    quoted = not is_tsv or _quotes_as_csv(path)
    quote = '"' if quoted else False
    header = next(csv.reader([first], delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE), [])
    columns = columns_of(header, path.name, labelled)
    texts = dict.fromkeys(columns.values(), pa.string())
    before = 0
    try:
        batches = pyarrow.csv.open_csv(
            path,
            pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK),
            pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=quote, newlines_in_values=quoted),
            pyarrow.csv.ConvertOptions(column_types=texts, include_columns=list(texts)),
        )
        for batch in batches:
            yield numbered(path.name, pa.Table.from_batches([batch]).rename_columns(list(columns)), before)
            before += len(batch)
    except pa.ArrowInvalid as error:
        row = re.search(r"Row #(\d+): Expected \d+ columns, got (\d+)", str(error))
        if row is None:
            raise not_utf8(path, str(error)) from None
        wanted = f"{len(header)} fields ({listed(header)})"
        way_out = "; texts with tabs or line breaks are written as JSONL or Parquet" if is_tsv else ""
        raise ValueError(f"{path.name}, row {int(row[1]) - 1}: expected {wanted}, got {row[2]}{way_out}") from None
    if quoted and not is_tsv and _has_open_quote(path):
        raise ValueError(f"{path.name}, row {before}: expected each quote to be closed, got one that is not")


def _quotes_as_csv(path: Path) -> bool:
    """Whether a TSV has the quotes of a writer of CSV: around every field, or around each that holds a quote."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        if next(stream, "").startswith('"'):
            return True
        fields = (field for line in stream if '"' in line for field in line.rstrip("\r\n").split("\t") if '"' in field)
        return all(re.fullmatch(r'"([^"]|"")*""([^"]|"")*"', field) for field in fields)


def _has_open_quote(path: Path) -> bool:
    with path.open("rb") as stream:
        return sum(block.count(b'"') for block in iter(lambda: stream.read(BLOCK), b"")) % 2 == 1


def json_rows(name: str, lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The values of JSON lines, each with what to call its row; ValueError names the row that is no JSON."""
    for row, line in enumerate(filter(str.strip, lines), 1):
        where = f"{name}, row {row}"
        yield where, json_value(where, line)


def not_utf8(path: Path, problem: str = "other bytes") -> ValueError:
    """What is wrong with a file whose bytes are not all UTF-8: the first such line; or another problem with it."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where, byte = f"{path.name}, line {number}", line[error.start]
                return ValueError(f"{where}: expected UTF-8 text, got the byte 0x{byte:02x}; save the file as UTF-8")
    return ValueError(f"{path.name}: expected rows of UTF-8 text, got {shorten(problem)}")
