"""Reads one file of pairs into an Arrow table as it stands and can name any of its rows; knows no rule about pairs."""

import csv
import json
import mmap
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

COLUMNS = ("question_id", "question", "answer", "label")
_TEXT = COLUMNS[:3]
_DELIMITERS = {"tsv": "\t", "csv": ","}
_BATCH = 65536  # JSON objects turned into one Arrow chunk


@dataclass(frozen=True)
class Layout:
    """How a file, or a hub set, names our columns (`columns`: ours → theirs), and what else it may hold."""

    columns: dict[str, str]
    extra: frozenset[str] = frozenset()
    quoted: bool = True

    def fits(self, names: Collection[str], labelled: bool, exact: bool) -> bool:
        needed = self.columns if labelled else {key: self.columns[key] for key in ("question", "answer")}
        allowed = self.extra.union(self.columns.values())
        return set(needed.values()) <= set(names) and (not exact or set(names) <= allowed)


LAYOUTS = (
    Layout({name: name for name in COLUMNS}, extra=frozenset({"document_title"})),  # ours, and microsoft/wiki_qa
    Layout(  # the official WikiQA files
        dict(zip(COLUMNS, ("QuestionID", "Question", "Sentence", "Label"), strict=True)),
        extra=frozenset({"DocumentID", "DocumentTitle", "SentenceID"}),
        quoted=False,
    ),
    Layout({"question_id": "key", "question": "question", "answer": "answer", "label": "label"}),  # lucadiliello/*
    Layout({"question": "question", "answer": "candidate", "label": "label"}),  # selqa: ids are made from runs
)


def layout_of(names: Collection[str], where: str, labelled: bool, exact: bool = True) -> Layout:
    """The layout that a list of column names has; `exact` refuses columns that the layout does not know.

    Raises ValueError that names what is missing and what is too much.
    """
    if len(set(names)) < len(names):
        raise ValueError(f"{where}: expected each column once, got {', '.join(names)}")
    fitting = [layout for layout in LAYOUTS if layout.fits(names, labelled, exact)]
    if fitting:  # the fullest: without labels, a set with `key` also fits our own names, less the ids
        return max(fitting, key=lambda layout: len(set(names).intersection(layout.columns.values())))
    needed = COLUMNS if labelled else ("question", "answer")
    missing = [name for name in needed if name not in names]
    extra = [name for name in names if name not in COLUMNS]
    problem = "; ".join(f"{word} {', '.join(them)}" for word, them in (("missing", missing), ("extra", extra)) if them)
    raise ValueError(f"{where}: expected the columns {', '.join(needed)}, got {', '.join(names) or 'none'} ({problem})")


def project(table: pa.Table, layout: Layout) -> pa.Table:
    """The table with our names, in our order; other columns, and those that are not there, are left out."""
    present = {ours: theirs for ours, theirs in layout.columns.items() if theirs in table.column_names}
    return table.select(list(present.values())).rename_columns(list(present))


def read(path: Path, labelled: bool = True) -> pa.Table:
    """The pairs of one TSV, CSV, JSONL or Parquet file under our column names: text as text, a label as it is stored.

    TSV and CSV follow RFC 4180, with or without quotes; the official WikiQA files, known by their header, have none.
    Raises ValueError for bytes that are not UTF-8, a row of another length, a quote left open, or another header.
    """
    kind = path.suffix[1:].lower()
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name}: expected at least one row, got an empty file")
    if kind == "parquet":
        return _read_parquet(path, labelled)
    if kind == "jsonl":
        return table_of_objects(_json_lines(path), labelled)
    return _read_delimited(path, _DELIMITERS[kind], labelled)


def locate(path: Path, row: int) -> str:
    """What to call a data row (counted from 0 here, from 1 in the words), with its line where the file has lines."""
    kind = path.suffix[1:].lower()
    if kind == "parquet":
        return f"{path.name}, row {row + 1}"
    if kind == "jsonl":
        with path.open("rb") as stream:
            lines = (number for number, line in enumerate(stream, 1) if line.strip())
            return f"{path.name}, row {row + 1} (line {next(islice(lines, row, None))})"
    quoted = layout_of(_header(path, _DELIMITERS[kind]), path.name, labelled=False).quoted
    return next(islice(_rows(path, _DELIMITERS[kind], quoted), row + 1, None))[0]


def table_of_objects(objects: Iterable[tuple[str, Any]], labelled: bool = True) -> pa.Table:
    """An Arrow table of text columns from dicts, each with what to call it in an error.

    Ids that are numbers are taken as text, and labels as they are written; None stays null.
    """
    objects = iter(objects)
    first = next(objects, None)
    if first is None:
        raise ValueError("expected at least one row, got none")
    where, row = first
    layout = layout_of(_keys(where, row), where, labelled)
    kept = {ours: theirs for ours, theirs in layout.columns.items() if theirs in row}
    chunks = []
    batch = [first, *islice(objects, _BATCH - 1)]
    while batch:
        chunks.append(_chunk(batch, kept, set(row)))
        batch = list(islice(objects, _BATCH))
    return pa.concat_tables(chunks)


def _keys(where: str, row: Any) -> list[str]:
    if not isinstance(row, dict):
        raise ValueError(f"{where}: expected an object with the columns {', '.join(COLUMNS)}, got {shorten(row)}")
    return [str(key) for key in row]


def _chunk(batch: list[tuple[str, Any]], kept: dict[str, str], keys: set[str]) -> pa.Table:
    columns: dict[str, list[str | None]] = {ours: [] for ours in kept}
    for where, row in batch:
        if set(_keys(where, row)) != keys:
            differing = ", ".join(sorted(keys.symmetric_difference(_keys(where, row))))
            raise ValueError(f"{where}: expected the columns of the first row, got a difference in {differing}")
        for ours, theirs in kept.items():
            columns[ours].append(_as_text(row[theirs], ours, where))
    return pa.table({ours: pa.array(values, pa.string()) for ours, values in columns.items()})


def _as_text(value: Any, column: str, where: str) -> str | None:
    if value is None:
        return None
    if column == "label":
        return str(int(value)) if isinstance(value, bool) else str(value)
    if column == "question_id" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"{where}: {column} must be text, got {shorten(value)}")
    if not _is_unicode(value):
        raise ValueError(f"{where}: {column} must be Unicode text, got half of a surrogate pair in {shorten(value)}")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shorten(value: Any) -> str:
    """A value as an error quotes it: on one line, and at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    row = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            row += 1
            where = f"{path.name}, row {row} (line {number})"
            try:
                value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8").strip())
            except UnicodeDecodeError as error:
                raise ValueError(_not_utf8(where, error.object[error.start : error.start + 1])) from None
            except json.JSONDecodeError as error:
                raise ValueError(f"{where}: expected a JSON object, got {error.msg} at column {error.colno}") from None
            yield where, value
    if row == 0:
        raise ValueError(f"{path.name}: expected at least one row, got none")


def _not_utf8(where: str, data: bytes) -> str:
    return f"{where}: expected UTF-8 text, got the byte 0x{data.hex()}; save the file as UTF-8"


def _read_parquet(path: Path, labelled: bool) -> pa.Table:
    try:
        names = parquet.read_schema(path).names
        layout = layout_of(names, path.name, labelled)
        kept = [name for name in layout.columns.values() if name in names]
        table = parquet.read_table(path, columns=kept, partitioning=None)  # folder names are not data
    except pa.ArrowException as error:
        raise ValueError(f"{path.name}: expected a Parquet file, got {first_line(error)}") from None
    return project(table, layout)


def first_line(error: Exception) -> str:
    """The first line of a library's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _rows(path: Path, delimiter: str, quoted: bool, strict: bool = False) -> Iterator[tuple[str, list[str]]]:
    """The rows of a delimited file, each with what to call it; the first one is the header."""
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    row, line = 0, 1
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, quoting=quoting, strict=strict)
        try:
            for fields in reader:
                if fields:  # Arrow passes over blank lines, and so do we
                    yield _called(path, row, line), fields
                    row += 1
                line = reader.line_num + 1
        except csv.Error as error:
            raise ValueError(
                f"{_called(path, row, line)}: expected fields quoted as in RFC 4180, got {error}; a field that begins "
                'with a double quote is written """…"'
            ) from None


def _called(path: Path, row: int, line: int) -> str:
    return f"{path.name}, row {row} (line {line})" if row else f"{path.name}, header (line {line})"


def _header(path: Path, delimiter: str) -> list[str]:
    return next(_rows(path, delimiter, quoted=True), ("", []))[1]


def _read_delimited(path: Path, delimiter: str, labelled: bool) -> pa.Table:
    header = _header(path, delimiter)
    layout = layout_of(header, path.name, labelled)
    kept = [name for name in layout.columns.values() if name in header]
    parse = arrow_csv.ParseOptions(
        delimiter=delimiter, quote_char='"' if layout.quoted else False, newlines_in_values=layout.quoted
    )
    types = arrow_csv.ConvertOptions(
        column_types={name: pa.string() for name in header}, strings_can_be_null=False, include_columns=kept
    )
    try:
        table = arrow_csv.read_csv(path, parse_options=parse, convert_options=types)
    except pa.ArrowException as error:
        _require_well_formed(path, delimiter, layout.quoted, header)
        raise ValueError(f"{path.name}: expected delimited text, got {first_line(error)}") from None
    if layout.quoted and _has_quotes(path):  # Arrow closes an open quote at the end of the file, and says nothing
        _require_well_formed(path, delimiter, layout.quoted, header)
    return project(table, layout)


def _has_quotes(path: Path) -> bool:
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b'"') >= 0


def _require_well_formed(path: Path, delimiter: str, quoted: bool, header: list[str]) -> None:
    """Reads a delimited file slowly and names the first row that is ragged, wrongly quoted or not UTF-8."""
    rows = -1
    for rows, (where, fields) in enumerate(_rows(path, delimiter, quoted, strict=True)):  # noqa: B007  read below
        for text in fields:
            if not _is_unicode(text):
                bad = next(character for character in text if "\ud800" <= character <= "\udfff")
                raise ValueError(_not_utf8(where, bad.encode("utf-8", "surrogateescape")))
        if len(fields) != len(header):
            raise ValueError(f"{where}: expected {len(header)} fields ({', '.join(header)}), got {len(fields)}")
    if rows < 1:  # a header alone, which Arrow takes for no table where no line break follows it
        raise ValueError(f"{path.name}: expected at least one row, got none")
