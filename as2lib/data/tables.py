"""Reads rows of any source into one checked Arrow table under our column names; knows no set by name, and no policy."""

import csv
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from datasets import ClassLabel, Dataset, Features

from as2lib.data.columns import NAMES, class_meant, columns_of, listed, text_of
from as2lib.data.sets import NoSplit, note
from as2lib.metrics.questions import Questions, require_together

Tables: TypeAlias = dict[str, pa.Table]  # what errors call it → unchecked pairs under our names, every column text


# ---------------------------------------------------------------- rules


def checked(tables: Tables, labelled: bool, run_ids: str | None = None) -> pa.Table:
    """The tables of one set as one with our types, if it keeps every rule; the rows of a question side by side.

    run_ids: where ids are missing, each run of equal questions gets `<run_ids>-1`, …; None: equal questions get one id,
    a hash of their text that no file's own ids are.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    pairs, name = pa.concat_tables(tables.values(), promote_options="default"), next(iter(tables))

    def where(row: int) -> str:
        for file, table in tables.items():
            if row < len(table):
                return f"{file}, row {row + 1}"
            row -= len(table)
        raise IndexError(row)

    if not len(pairs):
        raise ValueError(f"{name}: expected at least one row, got none")
    columns = {key: pairs[key] for key in NAMES if key in pairs.column_names and (labelled or key != "label")}
    for key in ("question_id", "question", "candidate_id"):
        if key in columns and (row := pc.index(_blank(columns[key]), True).as_py()) >= 0:
            value = columns[key][row].as_py()
            got = f"{value!r:.60}" if value else "nothing"
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
        labels = pa.table({key: columns[key] for key in ("question_id", "answer", "label")})
        labels = labels.group_by(["question_id", "answer"]).aggregate([("label", "count_distinct")])
        if both := pc.sum(pc.equal(labels["label_count_distinct"], 2)).as_py():
            note(f"{name}: {both:,} pairs have both labels")
    return _together(pa.table({key: columns[key] for key in NAMES if key in columns}), name)


def _require_one_text(ids: pa.ChunkedArray, texts: pa.ChunkedArray, where: Callable[[int], str]) -> None:
    rows, first = np.flatnonzero(run_starts(ids) | run_starts(texts)), {}  # question_id → its text
    for row, name, text in zip(rows.tolist(), ids.take(rows).to_pylist(), texts.take(rows).to_pylist(), strict=True):
        if text != first.setdefault(name, text):
            got = f"got {text!r:.60} after {first[name]!r:.60} for {name!r:.60}"
            raise ValueError(f"{where(row)}: expected one question a question_id, {got}; give each its own id")


def _new_ids(texts: pa.ChunkedArray, run_ids: str | None) -> pa.Array:
    runs = Questions.beginning(run_starts(texts))
    hashes = (hashlib.sha256(text.encode()).hexdigest() for text in texts.take(runs.starts).to_pylist())
    ids = [f"{run_ids}-{n}" if run_ids else f"q-{digest[:12]}" for n, digest in enumerate(hashes, 1)]
    return pa.array(np.repeat(np.array(ids, object), runs.sizes), pa.string())


def _blank(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0)), True)


def _labels(column: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
    zeros = pc.is_in(texts, value_set=pa.array(["0", "0.0", "false"]))
    ones = pc.is_in(texts, value_set=pa.array(["1", "1.0", "true"]))
    if (row := pc.index(pc.or_(zeros, ones), False).as_py()) >= 0:
        value = column[row].as_py()
        got = f"expected 0 or 1 (or true, false), got {f'{value!r:.60}' if value else 'nothing'}"
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
    """The questions of a table.  Raises ValueError where the rows of one lie apart."""
    questions = Questions.beginning(run_starts(table["question_id"]))
    require_together(len(questions.starts), pc.count_distinct(table["question_id"]).as_py())
    return questions


def run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())


# ---------------------------------------------------------------- where rows come from


def in_memory(source: Any, split: str | None, labelled: bool) -> Tables:
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
    elif isinstance(source, Sequence) and not isinstance(source, str):
        source = pd.DataFrame(list(source), dtype=object)
    elif isinstance(source, pd.DataFrame) and any(level is not None for level in source.index.names):
        source = source.reset_index()
    if not isinstance(source, pa.Table | pd.DataFrame):
        raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset, got {source!r:.60}")
    return {name: table_of(name, source, labelled)}


def table_of(name: str, content: pa.Table | pd.DataFrame, labelled: bool) -> pa.Table:
    """The columns that we need of a table, as texts; labels that are classes are read by the names of these."""
    if isinstance(content, pa.Table):
        names = content.column_names
        nested = [field.name for field in content.schema if pa.types.is_nested(field.type)]
    else:
        names = list(content)
        nested = [column for column, values in content.items() if values.map(pd.api.types.is_list_like).any()]
    columns = columns_of(names, name, labelled, nested)
    if isinstance(content, pa.Table) and b"huggingface" in (content.schema.metadata or {}):
        label = Features.from_arrow_schema(content.schema).get(columns.get("label"))
        if isinstance(label, ClassLabel) and (len(label.names) != 2 or class_meant(label.names) != 1):
            expected = "expected two classes, of which the last means correct, such as incorrect and correct"
            got = f"got {listed(label.names)}; write 1 for correct, 0 for the other"
            raise ValueError(f"{name}: label: {expected}, {got}")
    return pa.table({key: _texts(content[column], key, name) for key, column in columns.items()})


def _texts(values: pa.ChunkedArray | pd.Series, key: str, name: str) -> pa.Array | pa.ChunkedArray:
    """A column as texts: numbers as Arrow writes them, None and NaN as null."""
    try:
        return (values if isinstance(values, pa.ChunkedArray) else pa.array(values, from_pandas=True)).cast(pa.string())
    except (pa.ArrowException, UnicodeError):  # values of several types, or what is no text
        texts = []
    for row, value in enumerate(values.to_pylist() if isinstance(values, pa.ChunkedArray) else values, 1):
        if not isinstance(value, str | bytes) and pd.api.types.is_scalar(value):
            is_whole = isinstance(value, float) and value.is_integer()
            value = None if pd.isna(value) else str(int(value) if is_whole else value)
        texts.append(value if value is None else text_of(value, f"{name}, row {row}: {key}"))
    return pa.array(texts, pa.string())


def content_of(path: Path) -> pa.Table | pd.DataFrame:
    """All that a TSV, CSV, JSONL or Parquet file holds.

    Raises ValueError for bytes that are not UTF-8, a row that is too long, or a quote left open.
    """
    try:
        if path.suffix.lower() == ".parquet":
            return parquet.read_table(path)
        return _json_lines(path) if path.suffix.lower() == ".jsonl" else _delimited(path)
    except UnicodeDecodeError as error:
        got = "UTF-16" if error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "another encoding, Latin-1 perhaps"
        raise ValueError(f"{path.name}: expected UTF-8 text, got {got}; save the file as UTF-8") from None
    except pa.ArrowException as error:
        raise ValueError(f"{path.name}: expected a Parquet file, got {error!s:.60}") from None


def _json_lines(path: Path) -> pd.DataFrame:
    rows = []
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        for number, line in enumerate(filter(str.strip, stream), 1):
            try:
                rows.append(dict(json.loads(line)))
            except (ValueError, TypeError, RecursionError) as error:
                raise ValueError(f"{path.name}, row {number}: expected a JSON object, got {error}") from None
    return pd.DataFrame(rows, dtype=object)


def _delimited(path: Path) -> pd.DataFrame:
    """The texts of a CSV between commas or semicolons; or of a TSV, in which a quote is text, unless a writer of CSV
    put it.
    """
    is_tsv = path.suffix.lower() == ".tsv"
    with path.open(encoding="utf-8-sig") as stream:
        head = next(filter(str.strip, stream), "")
    separator = "\t" if is_tsv else max(",;\t", key=head.count)
    if separator == "\t" and not is_tsv:
        raise ValueError(f"{path.name}: expected commas or semicolons, got tabs; name it .tsv")
    options = {"sep": separator, "header": None, "dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
    try:
        frame = pd.read_csv(path, quoting=csv.QUOTE_NONE if is_tsv else csv.QUOTE_MINIMAL, **options)
        if is_tsv and _has_quotes_of_csv(frame):
            frame = pd.read_csv(path, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        way_out = "; texts with tabs, line breaks or quotes are safe in JSONL and Parquet"
        raise ValueError(f"{path.name}: {str(error).strip()}{way_out}") from None
    return frame[1:].set_axis(frame.iloc[0].tolist(), axis="columns")


def _has_quotes_of_csv(frame: pd.DataFrame) -> bool:
    """Whether each name of a column is quoted, or each text with a quote is, its own quotes doubled."""
    texts = pd.concat([frame[column] for column in frame])
    texts = texts[texts.str.contains('"')]
    return frame[0][0].startswith('"') or (len(texts) and texts.str.fullmatch('"([^"]|"")*""([^"]|"")*"').all())
