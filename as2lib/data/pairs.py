"""The pair table that everything reads: loads it, checks it, filters it by policy and fingerprints it; knows no model.

One `datasets.Dataset` with exactly question_id, question, answer (text) and label (int8, 0 or 1). The rows of a
question are contiguous and keep the order of their source, because some systems read it.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, DatasetInfo, Features, Value

from as2lib.data import formats, sources
from as2lib.data.formats import COLUMNS, shorten

POLICIES = ("answered", "mixed", "all")
FEATURES = Features({**{name: Value("string") for name in COLUMNS[:3]}, "label": Value("int8")})
_LABEL_TEXTS = {0: ["0", "0.0"], 1: ["1", "1.0"]}

Locate = Callable[[int], str]


def load_pairs(source: str | Path, split: str | None = None, questions: str = "answered") -> Dataset:
    """The checked pairs of a source, restricted to the questions that a policy keeps.

    source, split: see `sources.resolve`.  questions: "answered" keeps questions with a correct candidate, "mixed" those
        with an incorrect one as well, "all" every question.
    Returns the columns question_id, question, answer, label; the rows in the order of the source.
    Raises ValueError that names file and row for data that break a rule (see `check`), and where no question is left.
    """
    _require_policy(questions)
    location = sources.resolve(source, split)
    kept = filter_questions(_dataset(_load(location, labelled=True)), questions)
    if len(kept) == 0:
        raise ValueError(f'{location.name}: no question is left under questions="{questions}"; "all" keeps every one')
    return kept


@lru_cache(maxsize=16)
def load_parts(parts: tuple[str, ...], questions: str = "answered") -> Dataset:
    """The pairs of `source:split` parts, one after the other; kept in memory, since the fits of a group share them."""
    return concatenate([load_pairs(*sources.split_part(part), questions=questions) for part in parts])


def load_unlabelled(source: str | Path, split: str | None = None) -> Dataset:
    """The same table without `label`; no policy applies. Where ids are missing, each run of equal questions gets one.

    Raises what `load_pairs` raises, except about labels.
    """
    return _dataset(_load(sources.resolve(source, split), labelled=False))


def from_rows(rows: Any, name: str = "rows", labelled: bool = True) -> Dataset:
    """Pairs from memory under the same rules: a list of dicts, a pandas or Arrow table, or a `Dataset`.

    Raises ValueError that names the row, as `check` does.
    """
    if isinstance(rows, Dataset):
        table = _table(rows)
    elif isinstance(rows, pd.DataFrame):
        table = _from_pandas(rows, name)
    elif isinstance(rows, pa.Table):
        table = rows
    elif isinstance(rows, Sequence) and len(rows) > 0:
        table = formats.table_of_objects(((f"{name}, row {i}", row) for i, row in enumerate(rows, 1)), labelled)
    else:
        raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset with rows, got {shorten(rows)}")
    layout = formats.layout_of(table.column_names, name, labelled)
    return _dataset(check(formats.project(table, layout), name, labelled))


def check(
    table: pa.Table, name: str, labelled: bool = True, locate: Locate | None = None, ids: str | None = None
) -> pa.Table:
    """The table with our types, if it keeps every rule; each is tested on whole columns.

    A text is not empty, not only blanks and valid UTF-8; a number is accepted as an id. A label equals 0 or 1: as a
    number, a boolean, or the text 0, 1, 0.0, 1.0. A missing value counts as empty. The rows of a question are
    contiguous. Missing ids are made from runs of equal questions as `<ids>-1`, `<ids>-2`, ….
    locate: what to call a row, counted from 0; by default "<name>, row <number from 1>".  ids: by default the name.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    locate = locate or (lambda row: f"{name}, row {row + 1}")
    if table.num_rows == 0:
        raise ValueError(f"{name}: expected at least one row, got none")
    columns = {key: _text(table[key], key, name, locate) for key in ("question", "answer")}
    if "question_id" in table.column_names:
        columns["question_id"] = _text(table["question_id"], "question_id", name, locate)
        _require_contiguous(columns["question_id"], locate)
    else:
        columns["question_id"] = _ids_of_runs(columns["question"], ids or name)
    if labelled:
        columns["label"] = _labels(table["label"], name, locate)
    return pa.table({key: columns[key] for key in COLUMNS if key in columns})


def filter_questions(pairs: Dataset, questions: str) -> Dataset:
    """The pairs of the questions that a policy keeps: "answered", "mixed" or "all" (see `load_pairs`).

    Raises ValueError for another policy, and where the pairs have no label.
    """
    _require_policy(questions)
    if "label" not in pairs.column_names:
        raise ValueError("a policy needs labels: expected the column label, got none; load_unlabelled takes no policy")
    if questions == "all" or len(pairs) == 0:
        return pairs
    table = _table(pairs)
    starts = np.flatnonzero(_run_starts(table["question_id"]))
    sizes = np.diff(np.append(starts, table.num_rows))
    correct = np.add.reduceat(table["label"].to_numpy().astype(np.int64), starts)
    kept = (correct > 0) & (correct < sizes) if questions == "mixed" else correct > 0
    return pairs if kept.all() else _dataset(table.filter(pa.array(np.repeat(kept, sizes))))


def concatenate(sets: Iterable[Dataset]) -> Dataset:
    """Several sets of pairs, one after another.

    Raises ValueError where a question id is in two of them, or where their columns differ.
    """
    tables = [_table(pairs) for pairs in sets]
    if not tables or any(table.column_names != tables[0].column_names for table in tables):
        got = "; ".join(", ".join(table.column_names) for table in tables) or "none"
        raise ValueError(f"concatenate: expected sets of pairs with the same columns, got {got}")
    runs = [table["question_id"].filter(pa.array(_run_starts(table["question_id"]))) for table in tables]
    joined = pa.chunked_array([chunk for run in runs for chunk in run.chunks], pa.string())
    owner = np.repeat(np.arange(1, len(runs) + 1), [len(run) for run in runs])
    first, again = _first_repeat(joined)
    if again is not None:
        raise ValueError(
            f"concatenate: question_id {shorten(joined[again].as_py())} is in set {owner[first]} and again in set "
            f"{owner[again]}; give each set ids of its own"
        )
    return _dataset(pa.concat_tables(tables))


def fingerprint(pairs: Dataset) -> str:
    """The SHA-256 of a set of pairs: of column names, rows and their order, not of how Arrow stores them."""
    names = [name for name in COLUMNS if name in pairs.column_names]
    return _fingerprint(_table(pairs).select(names))


def _fingerprint(table: pa.Table) -> str:
    total = hashlib.sha256(repr((table.column_names, table.num_rows)).encode())
    for column in table.columns:
        lengths, content = hashlib.sha256(), hashlib.sha256()
        for chunk in column.chunks:
            if pa.types.is_integer(chunk.type):
                content.update(chunk.to_numpy().astype("<i8"))
                continue
            lengths.update(pc.binary_length(chunk).to_numpy().astype("<i8"))
            content.update(_text_bytes(chunk))
        total.update(lengths.digest() + content.digest())
    return total.hexdigest()


def _text_bytes(chunk: pa.Array) -> memoryview | bytes:
    """The characters of a text array, which its buffer may hold among others."""
    width = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    _, offsets, content = chunk.buffers()
    if len(chunk) == 0 or content is None:
        return b""
    ends = np.frombuffer(offsets, width, count=len(chunk) + 1, offset=chunk.offset * np.dtype(width).itemsize)
    return memoryview(content)[ends[0] : ends[-1]]


def _require_policy(questions: str) -> None:
    if questions not in POLICIES:
        raise ValueError(f"questions must be one of {', '.join(POLICIES)}, got {shorten(questions)}")


def _dataset(table: pa.Table) -> Dataset:
    features = Features({name: FEATURES[name] for name in table.column_names})
    # Without a fingerprint of its own, Dataset would pickle the whole table to make one.
    return Dataset(table, info=DatasetInfo(features=features), fingerprint=_fingerprint(table))


def _table(pairs: Dataset) -> pa.Table:
    return pairs.with_format("arrow")[:]


def _from_pandas(frame: pd.DataFrame, name: str) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, UnicodeEncodeError) as error:
        raise ValueError(f"{name}: expected columns of one type each, got {formats.first_line(error)}") from None


def _load(location: sources.Location, labelled: bool) -> pa.Table:
    if location.kind == "hub":
        return _load_hub(location, labelled)
    if location.kind == "sample":
        table = pa.Table.from_pylist(_sample_corpora(location.seed)[location.name][location.split])
        return check(table, location.name, labelled)
    tables = [formats.read(path, labelled) for path in location.files]
    ends = np.cumsum([table.num_rows for table in tables])

    def locate(row: int) -> str:
        part = int(np.searchsorted(ends, row, side="right"))
        return formats.locate(location.files[part], row - int(ends[part] - tables[part].num_rows))

    # Made ids are named by content, as identities are: no two files share one, and a moved file keeps its own.
    ids = None if "question_id" in tables[0].column_names else sources.file_sha256(location.files[0])[:8]
    return check(pa.concat_tables(tables, promote_options="permissive"), location.name, labelled, locate, ids)


@lru_cache(maxsize=2)
def _sample_corpora(seed: int) -> dict[str, dict[str, list[dict[str, Any]]]]:
    return sources.sample_module().generate(seed)


def _load_hub(location: sources.Location, labelled: bool) -> pa.Table:
    name, what = location.name, f"revision {location.revision}, split {location.split}"
    try:
        loaded = datasets.load_dataset(name, location.config, revision=location.revision, split=location.split)
    except (OSError, ValueError, RuntimeError) as error:  # no network; no such set, revision, config or split; a script
        raise FileNotFoundError(
            f"can't load {name} ({what}) from the hub: {formats.first_line(error)}; without a network, copy the set "
            f'to a folder and add "{name}: that/folder" under "local:" in params/local.yaml'
        ) from None
    layout = formats.layout_of(loaded.column_names, name, labelled, exact=False)
    return check(formats.project(_table(loaded), layout), name, labelled, ids=location.split)


def _text(column: pa.ChunkedArray, key: str, name: str, locate: Locate) -> pa.ChunkedArray:
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (_is_text(column.type) or pa.types.is_null(column.type) or (key == "question_id" and is_number)):
        raise ValueError(f"{name}: {key} must be text, got a column of type {column.type}")
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise ValueError(f"{locate(_first_not_utf8(column))}: {key} must be UTF-8 text, got other bytes") from None
    column = column.cast(pa.string())
    before = 0
    for chunk in column.chunks:  # one at a time: trimming copies the text
        empty = pc.fill_null(pc.equal(pc.binary_length(pc.utf8_trim_whitespace(chunk)), 0), True)
        row = pc.index(empty, True).as_py()
        if row >= 0:
            raise ValueError(
                f"{locate(before + row)}: {key} must not be empty, got {shorten(chunk[row].as_py() or '')}"
            )
        before += len(chunk)
    return column


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _first_not_utf8(column: pa.ChunkedArray) -> int:
    for row, value in enumerate(column):
        try:
            value.as_py()
        except UnicodeDecodeError:
            return row
    return 0


def _labels(column: pa.ChunkedArray, name: str, locate: Locate) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_text(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.string())
        zeros, ones = (pc.is_in(column, value_set=pa.array(_LABEL_TEXTS[label])) for label in (0, 1))
    elif pa.types.is_boolean(column.type):
        zeros, ones = pc.invert(column), column
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        zeros, ones = pc.equal(column, 0), pc.equal(column, 1)
    else:
        raise ValueError(f"{name}: label must be 0 or 1, got a column of type {column.type}")
    row = pc.index(pc.fill_null(pc.or_(zeros, ones), False), False).as_py()
    if row >= 0:
        got = column[row].as_py()
        raise ValueError(f"{locate(row)}: label must be 0 or 1, got {'nothing' if got in (None, '') else shorten(got)}")
    return ones.cast(pa.int8())


def _run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    starts = np.ones(len(column), dtype=bool)
    if len(column) > 1:
        starts[1:] = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)).to_numpy()
    return starts


def _ids_of_runs(questions: pa.ChunkedArray, prefix: str) -> pa.ChunkedArray:
    numbers = pa.array(np.cumsum(_run_starts(questions))).cast(pa.string())
    return pa.chunked_array([pc.binary_join_element_wise(prefix, numbers, "-")])


def _require_contiguous(ids: pa.ChunkedArray, locate: Locate) -> None:
    starts = _run_starts(ids)
    first, again = _first_repeat(ids.filter(pa.array(starts)))
    if again is not None:
        first, again = (int(row) for row in np.flatnonzero(starts)[[first, again]])
        raise ValueError(
            f"{locate(again)}: the rows of a question must be contiguous, got question_id "
            f"{shorten(ids[again].as_py())} again, first at {locate(first)}; bring its rows together in their order"
        )


def _first_repeat(values: pa.ChunkedArray) -> tuple[int | None, int | None]:
    """The first value that was there before: the positions of its first occurrence and of the one found."""
    if len(values) == 0:
        return None, None
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in values.dictionary_encode().chunks])
    _, firsts = np.unique(codes, return_index=True)  # codes count up in order of first appearance
    repeats = np.ones(len(codes), dtype=bool)
    repeats[firsts] = False
    again = int(np.argmax(repeats))
    return (int(firsts[codes[again]]), again) if repeats[again] else (None, None)
