"""The rules of the pair table, tested on whole columns; reads no file and knows no policy."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from as2lib.data.formats import COLUMNS, shorten

Locate = Callable[[int], str]
_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)


def check(
    tables: Iterable[pa.Table],
    name: str,
    labelled: bool = True,
    locate: Locate | None = None,
    ids: Callable[[], str] | None = None,
) -> Iterator[pa.Table]:
    """The tables of one set with our types, if it keeps every rule; each is tested on whole columns.

    A text is valid UTF-8, neither empty nor blank; a number is accepted as an id. A label is 0 or 1, as a number or
    text. The rows of a question are contiguous and have one question text.
    Missing ids are made from runs of equal questions: `<ids()>-1`, ….
    locate: what to call a row, counted from 0; by default "<name>, row <number from 1>".  ids: by default the name.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    locate = locate or (lambda row: f"{name}, row {row + 1}")
    rows, runs, last, text = 0, 0, None, None
    begun: dict[str, int] = {}  # question → its first row
    for table in filter(len, tables):
        present = [key for key in COLUMNS[:3] if key in table.column_names]
        columns = {key: _text(table[key], key, name, locate, rows) for key in present}
        runs_of = columns[present[0]]  # ids, or else questions
        begins = run_starts(runs_of)
        begins[0], last = runs_of[0].as_py() != last, runs_of[-1].as_py()
        if "question_id" in columns:
            heads = runs_of.filter(pa.array(begins)).to_pylist()
            _require_contiguous(begun, heads, rows + np.flatnonzero(begins), locate)
            asked = columns["question"]
            changes = run_starts(asked)
            changes[0], text = asked[0].as_py() != text, asked[-1].as_py()
            if len(other := np.flatnonzero(changes & ~begins)):
                row = int(other[0])
                raise ValueError(
                    f"{locate(rows + row)}: expected one question text a question_id, got another one for "
                    f"{shorten(runs_of[row].as_py())}: {shorten(asked[row].as_py())}; give each its own id"
                )
        else:
            numbers = pa.array(runs + np.cumsum(begins)).cast(pa.string())
            columns["question_id"] = pc.binary_join_element_wise(ids() if ids else name, numbers, "-")
            runs += int(begins.sum())
        if labelled:
            columns["label"] = _labels(table["label"], locate, rows)
        yield pa.table({key: columns[key] for key in COLUMNS if key in columns})
        rows += len(table)
    if not rows:
        raise ValueError(f"{name}: expected at least one row, got none")


def _text(column: pa.ChunkedArray, key: str, name: str, locate: Locate, first: int) -> pa.ChunkedArray:
    """The texts of a column whose first row is `first` of its set."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    numbers = key == "question_id" and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    if not (numbers or any(test(kind) for test in _TEXTS)):
        raise ValueError(f"{name}: {key} must be text, got a column of type {column.type!s:.60}")
    try:
        column = column.cast(kind)
        column.validate(full=True)
        column = column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (text or b"" for text in column.cast(pa.binary()).to_pylist())
        row = next(row for row, text in enumerate(texts) if text.decode(errors="ignore").encode() != text)
        raise ValueError(f"{locate(first + row)}: {key} must be UTF-8 text, got other bytes") from None
    empty = pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0))
    row = pc.index(pc.fill_null(empty, True), True).as_py()
    if row >= 0:
        raise ValueError(f"{locate(first + row)}: {key} must not be empty, got {shorten(column[row].as_py() or '')}")
    return column


def _labels(column: pa.ChunkedArray, locate: Locate, first: int) -> pa.ChunkedArray:
    try:
        texts = column.cast(pa.string())
    except (pa.ArrowException, UnicodeDecodeError):
        raise ValueError(f"{locate(first)}: label must be 0 or 1, got a column of type {column.type!s:.60}") from None
    zeros, ones = (pc.is_in(texts, value_set=pa.array([label, f"{label}.0"])) for label in "01")
    row = pc.index(pc.or_(zeros, ones), False).as_py()
    if row >= 0:
        got = column[row].as_py()
        got = "nothing" if got in (None, "") else shorten(got)
        raise ValueError(f"{locate(first + row)}: label must be 0 or 1, got {got}")
    return ones.cast(pa.int8())


def run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())


def _require_contiguous(begun: dict[str, int], heads: list[str], starts: np.ndarray, locate: Locate) -> None:
    """Add the questions that begin at some rows to those begun before, as question → row."""
    for head, start in zip(heads, starts.tolist(), strict=True):
        if begun.setdefault(head, start) != start:
            raise ValueError(
                f"{locate(start)}: the rows of a question must be contiguous, got question_id {shorten(head)} again, "
                f"first at {locate(begun[head])}; bring its rows together in their order"
            )
