"""Reads a file of pairs into Arrow tables as it stands and can name any of its rows; knows no rule about pairs."""

import csv
import json
import mmap
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

COLUMNS = ("question_id", "question", "answer", "label")
# What the official WikiQA files, lucadiliello/* and selqa call our columns; and columns of theirs that we pass over.
OFFICIAL = {"QuestionID": "question_id", "Question": "question", "Sentence": "answer", "Label": "label"}
RENAMED = OFFICIAL | {"key": "question_id", "candidate": "answer"}
PASSED_OVER = {"document_title", "DocumentID", "DocumentTitle", "SentenceID"}
_BATCH = 8192  # rows turned into one Arrow chunk
_BLOCK = 16 << 20  # bytes of a delimited file parsed at once: no row is longer

_BREAK = re.compile("[\t\r\n]").search
_WAYS_OUT = f"without quoting, where quotes are text, name the columns {', '.join(OFFICIAL)}; or save the file as CSV"

Rows = Iterator[tuple[str, dict[str, Any]]]  # what to call a row in an error, and its values by their name


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none; `load_unlabelled` reads them."""


def select(table: pa.Table, where: str, labelled: bool, exact: bool = True) -> pa.Table:
    """The table under our names without what we pass over; `exact` refuses columns that are nobody's.

    Raises ValueError that names what is missing and what is too much: `NoLabels` where the label is missing.
    """
    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError(f"{where}: expected each column once, got {listed(table.column_names)}")
    columns = _match(table.column_names, where, labelled, exact)
    return table.select(list(columns.values())).rename_columns(list(columns))


def _match(names: Collection[str], where: str, labelled: bool, exact: bool = True) -> dict[str, str]:
    """Our columns among those named, as ours → theirs; only selqa and unlabelled pairs may lack ids."""
    theirs = {RENAMED.get(name, name): name for name in names}
    needed = COLUMNS if labelled else COLUMNS[1:3]
    missing = [name for name in needed if name not in theirs and not (name == "question_id" and "candidate" in names)]
    extra = [name for name in theirs if exact and name not in COLUMNS and name not in PASSED_OVER]
    problems = [f"{word} {listed(them)}" for word, them in (("missing", missing), ("extra", extra)) if them]
    if problems:
        came = f"{listed(names) or 'none'} ({'; '.join(problems)})"
        error = NoLabels if "label" in missing else ValueError
        raise error(f"{where}: expected the columns {', '.join(needed)}, got {came}")
    return {name: theirs[name] for name in COLUMNS if name in theirs}


def read(path: Path, labelled: bool = True) -> Iterator[pa.Table]:
    """The pairs of one TSV, CSV, JSONL or Parquet file under our column names, some thousand rows a table.

    Text stays text, a label is as it is stored. TSV and CSV follow RFC 4180, with or without quotes; the official
    WikiQA files, known by their header, have none.
    Raises ValueError for bytes that are not UTF-8, a row of another length, a quote left open, or another header.
    """
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name}: expected at least one row, got an empty file")
    if path.suffix.lower() == ".jsonl":
        yield from tables_of_rows(rows(path), path.name, labelled)
    else:
        tables = _parquet_tables(path) if path.suffix.lower() == ".parquet" else _delimited_tables(path)
        yield from (select(table, path.name, labelled) for table in tables)


def rows(path: Path) -> Rows:
    """The rows of a file under its own column names, each with what to call it in an error: slower than `read`.

    Raises what `read` raises, but about columns.
    """
    if path.suffix.lower() == ".parquet":
        texts = (row for table in _parquet_tables(path) for row in table.to_pylist())
        found = ((f"{path.name}, row {number}", row) for number, row in enumerate(texts, 1))
    else:
        found = _json_rows(path) if path.suffix.lower() == ".jsonl" else _delimited_rows(path)
    if (first := next(found, None)) is None:
        raise ValueError(f"{path.name}: expected at least one row, got none")
    yield first
    yield from found


def locate(path: Path, row: int) -> str:
    """What to call a data row (counted from 0 here, from 1 in the words), with its line where the file has lines."""
    if path.suffix.lower() == ".parquet":
        return f"{path.name}, row {row + 1}"
    return next(islice(rows(path), row, None))[0]


def tables_of_rows(rows: Rows, name: str, labelled: bool) -> Iterator[pa.Table]:
    """Arrow tables of text columns from dicts: numbers among ids and labels as they are written, None as null."""
    columns, names = {}, None
    while batch := list(islice(rows, _BATCH)):
        for where, row in batch:
            if not isinstance(row, dict):
                raise ValueError(
                    f"{where}: expected an object with the columns {', '.join(COLUMNS)}, got {shorten(row)}"
                )
            if names is None:
                names, columns = row.keys(), _match(row, name, labelled)
            if differing := listed(sorted(row.keys() ^ names)):
                raise ValueError(f"{where}: expected the columns of the first row, got a difference in {differing}")
        texts = {ours: [_text(where, ours, row[its]) for where, row in batch] for ours, its in columns.items()}
        yield pa.table({ours: pa.array(column, pa.string()) for ours, column in texts.items()})


def shorten(value: Any) -> str:
    """A value as an error quotes it: on one line, and at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def listed(names: Iterable[str]) -> str:
    """Names as an error gives them: on one line, each of at most 60 characters, the first twelve."""
    found = [name if name.isprintable() and len(name) <= 60 else shorten(name) for name in islice(names, 13)]
    return ", ".join([*found[:12], *["…"] * (len(found) > 12)])


def require_utf8(where: str, text: str) -> None:
    """Raises ValueError where a text, decoded with "surrogateescape", has bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = text[error.start].encode("utf-8", "surrogateescape").hex()
        raise ValueError(f"{where}: expected UTF-8 text, got the byte 0x{byte}; save the file as UTF-8") from None


def _text(where: str, column: str, value: Any) -> str | None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{where}: {column} must be text, got half a character in {shorten(value)}") from None
        return value
    if value is None:
        return value
    if column == "question_id" and isinstance(value, int | float):
        return str(value)
    if column == "label":
        return shorten(value)
    raise ValueError(f"{where}: {column} must be text, got {shorten(value)}")


def _parquet_tables(path: Path) -> Iterator[pa.Table]:
    try:
        with parquet.ParquetFile(path) as file:
            yield from _tables(file.schema_arrow, file.iter_batches(_BATCH))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"{path.name}: expected a Parquet file, got {problem}") from None


def _tables(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """A table a batch, after one without rows: the columns of an empty file are checked too.

    Raises UnicodeDecodeError for the name of a column.
    """
    listed(schema.names)  # which are decoded here
    yield schema.empty_table()
    yield from (pa.Table.from_batches([batch]) for batch in batches)


def _delimited_tables(path: Path) -> Iterator[pa.Table]:
    delimiter, quoted = _dialect(path)
    parse = arrow_csv.ParseOptions(delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted)
    texts = arrow_csv.ConvertOptions(column_types=dict.fromkeys((*COLUMNS, *RENAMED, *PASSED_OVER), pa.string()))
    try:
        if quoted and _is_misquoted(path, delimiter):
            raise pa.ArrowInvalid("a quote that is not closed at the end of its field")
        with arrow_csv.open_csv(path, arrow_csv.ReadOptions(block_size=_BLOCK), parse, texts) as reader:
            yield from _tables(reader.schema, reader)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        rows = sum(1 for _ in _delimited_rows(path))  # raises what is wrong, and names its row
        wanted = f"rows of at most {_BLOCK:,} bytes, got {error}" if rows else "at least one row, got none"
        raise ValueError(f"{path.name}: expected {wanted}") from None


def _is_misquoted(path: Path, delimiter: str) -> bool:
    """Whether a quoted field goes on after its quote, or to the end of the file: Arrow reads both without a word.

    In a TSV also whether it holds a tab or a line break: more likely, the quote is text and swallowed what follows.
    """
    end = rf"{delimiter}\r\n"
    held = rf'[^"{end}]' if delimiter == "\t" else '[^"]'
    field = rf'"(?<![^{end}]")(?:(?:{held}++|"")*+"(?=[{end}]|\Z)|(?P<misquoted>))'
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(found["misquoted"] is not None for found in re.finditer(field.encode(), content))


def _dialect(path: Path) -> tuple[str, bool]:
    """The delimiter of a file, and whether its fields may be quoted: not in a TSV with WikiQA's official names."""
    if path.suffix.lower() != ".tsv":
        return ",", True
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        return "\t", OFFICIAL.keys().isdisjoint(stream.readline(1 << 16).strip("\r\n").split("\t"))


def _json_rows(path: Path) -> Rows:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as stream:
        lines = ((number, line) for number, line in enumerate(stream, 1) if line.strip())
        for row, (number, line) in enumerate(lines, 1):
            where = f"{path.name}, row {row} (line {number})"
            require_utf8(where, line)
            yield where, parse_json(where, line)


def parse_json(where: str, text: str) -> Any:
    """What JSON says; ValueError that says where for text that is none, or that gives an object's key twice."""
    try:
        return json.loads(text, object_pairs_hook=_each_key_once)
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at column {error.colno}"
    except RecursionError:
        problem = "one nested too deeply"
    except ValueError as error:  # a key twice, or a number of thousands of digits
        problem = str(error)
    raise ValueError(f"{where}: expected a JSON object, got {problem}")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a key twice among {listed(key for key, _ in pairs)}")
    return found


def _delimited_rows(path: Path) -> Rows:
    delimiter, quoted = _dialect(path)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
        quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        reader = csv.reader(stream, delimiter=delimiter, quoting=quoting, strict=True)
        where, header, row = f"{path.name}, header (line 1)", [], 0
        try:
            for fields in reader:
                require_utf8(where, "".join(fields))
                if delimiter == "\t" and (broken := next(filter(_BREAK, fields), None)):
                    wanted = "expected no tab and no line break in a field of a TSV"
                    raise ValueError(f"{where}: {wanted}, got {shorten(broken)} between two quotes; {_WAYS_OUT}")
                if header and fields:  # blank lines are passed over
                    if len(fields) != len(header):
                        wanted = f"{len(header)} fields ({listed(header)})"
                        raise ValueError(f"{where}: expected {wanted}, got {len(fields)}")
                    row += 1
                    yield where, dict(zip(header, fields, strict=True))
                header = header or fields
                where = f"{path.name}, row {row + 1} (line {reader.line_num + 1})"
        except csv.Error as error:
            wanted = 'fields quoted as in RFC 4180 (one that begins with a double quote is written """…")'
            ways = f"; {_WAYS_OUT}" if delimiter == "\t" else ""
            raise ValueError(f"{where}: expected {wanted}, got {error}{ways}") from None
