"""Reads rows of any source into one checked Arrow table under our column names; knows no set by name, and no policy."""

import csv
import json
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from numbers import Number
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import ClassLabel, Dataset, Features

from as2lib.data.columns import NAMES, columns_of, text_of
from as2lib.data.sets import NoSplit, note
from as2lib.metrics.questions import Questions

Frames: TypeAlias = dict[str, pd.DataFrame]  # what errors call it → unchecked pairs under our names, every column text
LABELS = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}


# ---------------------------------------------------------------- rules


def checked(frames: Frames, labelled: bool, run_ids: str | None = None) -> pa.Table:
    """The rows of one set as one table with our types, if they keep every rule; those of a question side by side.

    run_ids: where ids are missing, each run of equal questions gets `<run_ids>-1`, …; None: equal questions get one id,
    a hash of their text that no file's own ids are.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    pairs, name = pd.concat(frames), next(iter(frames))  # whose index is file and row, from 0
    if pairs.empty:
        raise ValueError(f"{name}: expected at least one row, got none")

    def require(valid: pd.Series, column: str, expected: str, way_out: str) -> None:
        if not valid.all():
            file, row = valid.idxmin()
            value = pairs[column].iloc[valid.argmin()]
            got = f"{value!r:.60}" if isinstance(value, str) and value else "nothing"
            raise ValueError(f"{file}, row {row + 1}: {column}: expected {expected}, got {got}; {way_out}")

    for key in (key for key in NAMES if key in pairs and key not in ("answer", "label")):
        require(pairs[key].fillna("").str.strip() != "", key, "text", "fill it in or leave the row out")
    pairs["answer"] = pairs["answer"].fillna("")
    if empty := int((pairs["answer"].str.strip() == "").sum()):
        note(f"{name}: {empty:,} answers are empty: they are kept, and scored as empty texts")
    if "question_id" in pairs:
        first = pairs.groupby("question_id")["question"].transform("first")
        require(pairs["question"] == first, "question_id", "one question an id", "give each question its own")
    elif run_ids:
        number = (pairs["question"] != pairs["question"].shift()).cumsum()
        pairs["question_id"] = f"{run_ids}-" + number.astype(str)
    else:
        pairs["question_id"] = pairs["question"].map(lambda text: f"q-{sha256(text.encode()).hexdigest()[:12]}")
    if "candidate_id" in pairs:
        once = ~pairs.duplicated(["question_id", "candidate_id"])
        require(once, "candidate_id", "each once in a question", "give each candidate its own, or leave the column out")
    if labelled:
        labels = pairs["label"].str.strip().str.lower().map(LABELS)
        require(labels.notna(), "label", "0 or 1 (or true, false)", "write 1 for grades that count as correct")
        pairs["label"] = labels
        if both := int((pairs.groupby(["question_id", "answer"])["label"].nunique() == 2).sum()):
            note(f"{name}: {both:,} pairs have both labels")
    question = pd.factorize(pairs["question_id"])[0]
    if (np.diff(question) < 0).any():
        note(f"{name}: the rows of each question are brought together, in their order")
        pairs = pairs.iloc[np.argsort(question, kind="stable")]
    kept = [key for key in NAMES if key in pairs and (labelled or key != "label")]
    schema = pa.schema({key: pa.int8() if key == "label" else pa.string() for key in kept})
    return pa.Table.from_pandas(pairs[kept], schema, preserve_index=False).replace_schema_metadata()


def questions_of(table: pa.Table) -> Questions:
    """The questions of a table.  Raises ValueError where the rows of one lie apart."""
    return Questions.together(table["question_id"].to_numpy())


# ---------------------------------------------------------------- where rows come from


def in_memory(source: Any, split: str | None, labelled: bool) -> Frames:
    """The pairs of a list of dicts, a pandas table or a `Dataset`."""
    if split is not None:
        raise NoSplit(f'pairs: those in memory have no splits, got split "{split}"; leave the split out')
    if isinstance(source, Dataset):
        source = source.with_format("arrow")[:]
    elif isinstance(source, Sequence) and not isinstance(source, str):
        source = pd.DataFrame(list(source), dtype=object)
    elif isinstance(source, pd.DataFrame) and any(level is not None for level in source.index.names):
        source = source.reset_index()
    if not isinstance(source, pa.Table | pd.DataFrame):
        raise ValueError(f"pairs: expected a list of dicts, a pandas table or a Dataset, got {source!r:.60}")
    return {"pairs": frame_of("pairs", source, labelled)}


def frame_of(name: str, content: pa.Table | pd.DataFrame, labelled: bool) -> pd.DataFrame:
    """The columns that we need of a table, as texts; of labels that are classes the names of these."""
    if isinstance(content, pa.Table):
        schema, content = content.schema, content.to_pandas(integer_object_nulls=True, ignore_metadata=True)
        features = Features.from_arrow_schema(schema) if b"huggingface" in (schema.metadata or {}) else {}
        for key, feature in features.items():
            if isinstance(feature, ClassLabel):
                content[key] = content[key].map(dict(enumerate(feature.names)))
    columns = columns_of([*content], name, labelled)
    return pd.DataFrame({key: _texts(content[column], key, name) for key, column in columns.items()})


def _texts(values: pd.Series, key: str, name: str) -> pd.Series:
    """A column as texts: numbers as Arrow writes them, None and NaN as missing."""
    try:
        return pa.array(values, from_pandas=True).cast(pa.string()).to_pandas()
    except (pa.ArrowException, OverflowError, UnicodeError):  # of several types, past 64 bits, or no text
        values = values.astype(object).where(values.notna(), None)
    texts = [str(value) if isinstance(value, Number) else value for value in values]
    rows = [(f"{name}, row {row}: {key}", text) for row, text in enumerate(texts, 1)]
    return pd.Series([text if text is None else text_of(text, where) for where, text in rows], dtype=str)


def content_of(path: Path) -> pa.Table | pd.DataFrame:
    """All that a TSV, CSV, JSONL or Parquet file holds.

    Raises ValueError for bytes that are not UTF-8, a row that is too long, or a quote left open.
    """
    try:
        readers = {".parquet": parquet.read_table, ".jsonl": _json_lines}
        return readers.get(path.suffix.lower(), _delimited)(path)
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
    """The texts of a CSV; or of a TSV, in which a quote is text, unless a writer of CSV put it."""
    is_tsv = path.suffix.lower() == ".tsv"
    with path.open(encoding="utf-8-sig") as stream:
        head = next(filter(str.strip, stream), "")
    separator = "\t" if is_tsv else max(",;\t", key=head.count)
    if separator == "\t" and not is_tsv:
        raise ValueError(f"{path.name}: expected commas or semicolons, got tabs; name it .tsv")
    read = partial(pd.read_csv, path, sep=separator, header=None, dtype=str, keep_default_na=False)
    try:
        frame = read(quoting=csv.QUOTE_NONE if is_tsv else csv.QUOTE_MINIMAL)
        if is_tsv and _has_quotes_of_csv(frame):
            frame = read()
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        way_out = "; texts with tabs, line breaks or quotes are safe in JSONL and Parquet"
        raise ValueError(f"{path.name}: {str(error).strip()}{way_out}") from None
    return frame[1:].set_axis(frame.iloc[0].tolist(), axis="columns")


def _has_quotes_of_csv(frame: pd.DataFrame) -> bool:
    """Whether each name of a column is quoted, or each text with a quote is, its own quotes doubled."""
    texts = frame.melt()["value"].loc[lambda text: text.str.contains('"')]
    return frame[0][0].startswith('"') or (len(texts) and texts.str.fullmatch('"([^"]|"")*""([^"]|"")*"').all())
