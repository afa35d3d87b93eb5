"""Reads rows of any source into one checked Arrow table under our column names; knows no set by name, and no policy."""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from datasets import ClassLabel, Dataset, Features

from as2lib.data.columns import NAMES, columns_of, correct_class, list_of, listed, question_of
from as2lib.data.sets import NoSplit, note, shorten, whole_text
from as2lib.metrics.questions import Questions


class Table(NamedTuple):
    """Unchecked pairs under our names, every column text.  name: what errors call it.  numbers: of its rows, from 1."""

    name: str
    pairs: pa.Table
    numbers: Sequence[int] | None = None  # where several pairs come from one row


# ---------------------------------------------------------------- rules


def checked(tables: Sequence[Table], labelled: bool, run_ids: str | None = None) -> pa.Table:
    """The tables of one set as one with our types, if it keeps every rule; the rows of a question side by side.

    run_ids: where ids are missing, each run of equal questions gets `<run_ids>-1`, …; None: equal questions get one id,
    a hash of their text that no file's own ids are.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    pairs = pa.concat_tables([table.pairs for table in tables], promote_options="default")
    name = tables[0].name

    def where(row: int) -> str:
        for table in tables:
            if row < len(table.pairs):
                return f"{table.name}, row {table.numbers[row] if table.numbers else row + 1}"
            row -= len(table.pairs)
        raise IndexError(row)

    if not len(pairs):
        raise ValueError(f"{name}: expected at least one row, got none")
    columns = {key: pairs[key] for key in NAMES if key in pairs.column_names and (labelled or key != "label")}
    for key in ("question_id", "question", "candidate_id"):
        if key in columns and (row := pc.index(_blank(columns[key]), True).as_py()) >= 0:
            value = columns[key][row].as_py()
            got = shorten(value) if value else "nothing"
            raise ValueError(f"{where(row)}: {key}: expected text, got {got}; fill it in or leave the row out")
    if empty := pc.sum(_blank(columns["answer"])).as_py():
        note(f"{name}: {empty:,} answers are empty: they are kept, and scored as empty texts")
        columns["answer"] = pc.fill_null(columns["answer"], "")
    if "question_id" in columns:
        _require_one_text(columns["question_id"], columns["question"], where)
    else:
        columns["question_id"] = _new_ids(columns["question"], run_ids)
    if labelled:
        columns["label"] = _labels(columns["label"], where)
    return _together(pa.table({key: columns[key] for key in NAMES if key in columns}), name)


def _require_one_text(ids: pa.ChunkedArray, texts: pa.ChunkedArray, where: Callable[[int], str]) -> None:
    rows = np.flatnonzero(run_starts(ids) | run_starts(texts))
    first: dict[str, tuple[str, int]] = {}  # question_id → (its text, its first row)
    for row, name, text in zip(rows.tolist(), ids.take(rows).to_pylist(), texts.take(rows).to_pylist(), strict=True):
        first_text, first_row = first.setdefault(name, (text, row))
        if text != first_text:
            raise ValueError(
                f"{where(row)}: expected one question a question_id, got {shorten(name)} for {shorten(text)}, after "
                f"{shorten(first_text)} in {where(first_row)}; give each its own id"
            )


def _new_ids(texts: pa.ChunkedArray, run_ids: str | None) -> pa.Array:
    runs = Questions.beginning(run_starts(texts))
    ids = [f"{run_ids}-{number}" for number in range(1, len(runs.starts) + 1)]
    if run_ids is None:
        firsts = texts.take(runs.starts).to_pylist()
        ids = [f"q-{hashlib.sha256(text.encode()).hexdigest()[:12]}" for text in firsts]
    return pa.array(np.repeat(np.array(ids, object), runs.sizes), pa.string())


def _blank(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0)), True)


def _labels(column: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    zeros = pc.is_in(texts, value_set=pa.array(["0", "0.0", "false"]))
    ones = pc.is_in(texts, value_set=pa.array(["1", "1.0", "true"]))
    if (row := pc.index(pc.or_(zeros, ones), False).as_py()) >= 0:
        value = column[row].as_py()
        got = f"expected 0 or 1 (or true, false), got {shorten(value) if value else 'nothing'}"
        raise ValueError(f"{where(row)}: label: {got}; of grades, write 1 for those that count as correct")
    return ones.cast(pa.int8())


def _together(table: pa.Table, name: str) -> pa.Table:
    """The rows of a question side by side, in the order in which questions first come."""
    ids = table["question_id"]
    if run_starts(ids).sum() == pc.count_distinct(ids).as_py():
        return table
    note(f"{name}: the rows of each question are brought together, in their order")
    question = Questions.anywhere(ids.to_pylist()).code
    return table.take(pa.array(np.argsort(question, kind="stable")))


def questions_of(table: pa.Table) -> Questions:
    """The questions of a table, whose rows stand together."""
    return Questions.beginning(run_starts(table["question_id"]))


def run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())


# ---------------------------------------------------------------- tables in memory


def in_memory(source: Any, split: str | None, labelled: bool) -> Table:
    """The pairs of a list of dicts, a table or a `Dataset`, or of one split of a mapping to these."""
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
        source = source.with_format("arrow")[:].replace_schema_metadata(source.features.arrow_schema.metadata)
    if isinstance(source, pa.Table):
        return from_arrow(name, source, labelled)
    if isinstance(source, pd.DataFrame):
        columns = columns_of(list(source.columns), name, labelled)
        return Table(name, pa.table({key: _texts(source[column], key, name) for key, column in columns.items()}))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return _from_rows(name, source, labelled)
    raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset, got {shorten(source)}")


def from_arrow(name: str, table: pa.Table, labelled: bool) -> Table:
    """The columns of an Arrow table that we need; labels that are classes are read by the names of these."""
    columns = columns_of(table.column_names, name, labelled)
    pairs = {}
    for key, column in columns.items():
        try:
            pairs[key] = table[column].cast(pa.string())
        except pa.ArrowException:
            raise ValueError(f"{name}: {key}: expected text, got {table[column].type!s:.60}") from None
    is_dataset = b"huggingface" in (table.schema.metadata or {})
    label = Features.from_arrow_schema(table.schema).get(columns.get("label")) if is_dataset else None
    if isinstance(label, ClassLabel):
        correct = correct_class(label.names)
        if correct is None or len(label.names) != 2:
            got = listed(label.names)
            raise ValueError(f"{name}: label: expected two classes, such as incorrect and correct, got {got}")
        pairs["label"] = pc.equal(table[columns["label"]], correct).cast(pa.string())
    return Table(name, pa.table(pairs))


def _from_rows(name: str, rows: Iterable[Any], labelled: bool) -> Table:
    """Rows that are dicts, each a pair, or a question with its candidates, called by its number if it has no id."""
    pairs, numbers, with_ids = [], [], None
    for number, row in enumerate(rows, 1):
        where = f"{name}, row {number}"
        if not isinstance(row, Mapping):
            raise ValueError(f"{where}: expected an object with a question and an answer, got {shorten(row)}")
        column = list_of(row, where)
        candidates = [row]
        if column is not None:
            identity, text, candidates = question_of(row, column, where, name)
            with_ids = identity is not None if with_ids is None else with_ids
            if with_ids != (identity is not None):
                raise ValueError(f"{where}: expected each row to have an id, or none")
            question = {"question_id": number if identity is None else identity, "question": text}
            candidates = [question | candidate for candidate in candidates]
        pairs += candidates
        numbers += [number] * len(candidates)
    columns = columns_of(list(pairs[0]), name, labelled) if pairs else {key: key for key in NAMES}
    texts = {key: [pair.get(column) for pair in pairs] for key, column in columns.items()}
    return Table(name, pa.table({key: _texts(values, key, name, numbers) for key, values in texts.items()}), numbers)


def _texts(values: Iterable[Any], key: str, name: str, numbers: Iterable[int] | None = None) -> pa.Array:
    """Values from Python as an Arrow column of texts: numbers as they are written, None and NaN as null."""
    texts = []
    for row, value in zip(numbers or count(1), values, strict=False):
        if isinstance(value, str):
            texts.append(whole_text(value))
        elif not pd.api.types.is_scalar(value) or isinstance(value, bytes):
            raise ValueError(f"{name}, row {row}: {key}: expected text, got {shorten(value)}")
        else:
            texts.append(None if pd.isna(value) else str(value))
    return pa.array(texts, pa.string())


# ---------------------------------------------------------------- files


def read(path: Path, labelled: bool) -> Table:
    """The columns that we need of one TSV, CSV, JSONL or Parquet file, unchecked.

    Raises ValueError for bytes that are not UTF-8, a row of another length, a quote left open, or missing columns.
    """
    try:
        if path.suffix.lower() == ".parquet":
            return from_arrow(path.name, parquet.read_table(path), labelled)
        if path.suffix.lower() == ".jsonl":
            return _from_rows(path.name, _json_lines(path), labelled)
        return _delimited(path, labelled)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name}: expected UTF-8 text, got {error}; save the file as UTF-8") from None
    except pa.ArrowException as error:
        raise ValueError(f"{path.name}: expected a Parquet file, got {shorten(str(error))}") from None


def _json_lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        for number, line in enumerate(filter(str.strip, stream), 1):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path.name}, row {number}: expected a JSON object, got {error}") from None


def _delimited(path: Path, labelled: bool) -> Table:
    """A CSV between commas or semicolons; or a TSV: a row a line, where a quote is text, unless a CSV writer put it."""
    is_tsv = path.suffix.lower() == ".tsv"
    with path.open(encoding="utf-8-sig", newline="") as stream:
        head = next((line for line in stream if line.strip()), "")
    delimiter = "\t" if is_tsv else max(",;", key=head.count)
    quoting = csv.QUOTE_NONE if is_tsv and not _is_quoted(path) else csv.QUOTE_MINIMAL
    fields = {"sep": delimiter, "header": None, "dtype": str, "na_filter": False, "quoting": quoting}
    try:
        rows = pd.read_csv(path, **fields, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        way_out = "; texts with tabs or line breaks are written as JSONL or Parquet" if is_tsv else ""
        raise ValueError(f"{path.name}: {str(error).rpartition('error: ')[2].strip()}{way_out}") from None
    table = pa.Table.from_pandas(rows[1:], preserve_index=False).rename_columns(rows.iloc[0].tolist())
    return from_arrow(path.name, table, labelled)


def _is_quoted(path: Path) -> bool:
    """Whether a TSV has the quotes of a writer of CSV: around every field, or around each that holds a quote."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        if next(stream, "").startswith('"'):
            return True
        fields = (field for line in stream if '"' in line for field in line.rstrip("\r\n").split("\t") if '"' in field)
        return all(re.fullmatch(r'"([^"]|"")*""([^"]|"")*"', field) for field in fields)
