"""The pair table that everything reads: loads it, checks it, filters it by policy and fingerprints it; knows no model.

One `datasets.Dataset` with exactly question_id, question, answer (text) and label (int8, 0 or 1). The rows of a
question are contiguous and keep the order of their source, because some systems read it. What is generated or built,
and past `disk.LARGE` bytes any table, is a file in `work/pairs/`, mapped into memory; every step reads it in batches:
ASNQ has 23.7 M rows.
"""

import hashlib
import json
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
from datasets import Dataset, DatasetInfo, Features, Value
from datasets.table import Table

from as2lib import imported
from as2lib.data import builders, disk, formats, sample, sources
from as2lib.data.formats import COLUMNS, shorten
from as2lib.data.rules import check, run_starts
from as2lib.metrics.ranking import POLICIES, kept

FEATURES = Features({**{name: Value("string") for name in COLUMNS[:3]}, "label": Value("int8")})
_VERSION = 1  # raise it when the same files would give other pairs
_generate, _generate_pool = (lru_cache(maxsize=2)(made) for made in (sample.generate, sample.generate_unlabelled))


def load_pairs(source: str | Path, split: str | None = None, questions: str = "answered") -> Dataset:
    """The checked pairs of a source, restricted to the questions that a policy keeps.

    source, split: see `sources.resolve`.  questions: "answered" keeps questions with a correct candidate, "mixed" those
        with an incorrect one as well, "all" every question.
    Returns the columns question_id, question, answer, label; the rows in the order of the source.
    Raises ValueError that names file and row for data that break a rule (see `check`), where no question is left, and
    where a known set has other pairs than `sources.FINGERPRINTS` says.
    """
    _require_policy(questions)
    location, known = sources.resolve(source, split), sources.known(source, split)
    every = _dataset(_load(location, labelled=True))
    if known and (came := fingerprint(every)) != known["pairs"]:
        raise ValueError(
            f"{source}:{split}: expected the pairs of fingerprint {known['pairs'][:12]}, got {len(every)} other pairs "
            f"({came[:12]}) from {location.name}; name another version by its path, or as name@revision"
        )
    pairs = filter_questions(_only(every, location.only), questions)
    if len(pairs) == 0:
        of = f" of {split}" if any(location.only) else ""
        raise ValueError(
            f'{location.name}: no question{of} is left under questions="{questions}"; "all" keeps every one'
        )
    return pairs


@lru_cache(maxsize=16)
def load_parts(parts: tuple[str, ...], questions: str = "answered") -> Dataset:
    """The pairs of `source:split` parts, one after the other; kept in memory, since the fits of a group share them."""
    return concatenate([load_pairs(*sources.split_part(part), questions=questions) for part in parts])


def at_hand(parts: tuple[str, ...], questions: str | None = "all") -> Dataset | None:
    """What `load_parts` gives, or None where the texts of a known set are neither here nor on a hub that answers.

    questions: the policy; None: without labels, as `load_unlabelled_parts`.
    """
    try:
        return load_parts(parts, questions) if questions else load_unlabelled_parts(parts)
    except sources.NotHere:
        return None


def load_unlabelled(source: str | Path, split: str | None = None) -> Dataset:
    """The same table without `label`; no policy applies. Where ids are missing, each run of equal questions gets one.

    Raises what `load_pairs` raises, except about labels.
    """
    # A known set has the fingerprint of its labelled pairs; unanswered questions are chosen by labels, all 0 then.
    if sources.known(source, split) or sources.with_only(split)[1].unanswered:
        return load_pairs(source, split, "all").remove_columns("label")
    location = sources.resolve(source, split)
    return _only(_dataset(_load(location, labelled=False)), location.only)


@lru_cache(maxsize=4)
def load_unlabelled_parts(parts: tuple[str, ...]) -> Dataset:
    """What `load_parts` does, without labels and without a policy."""
    return concatenate([load_unlabelled(*sources.split_part(part)) for part in parts])


def stream_pairs(path: str | Path) -> Iterator[pa.Table]:
    """The checked pairs of one file, without labels, some thousand rows at a time: memory does not grow with the file.

    Raises what `load_unlabelled` raises, when it comes to the row.
    """
    location = sources.resolve(path)
    if location.builder:
        return check(builders.tables(location), location.name, labelled=False)
    return _from_files(location.files, location.name, labelled=False)


def leave_out(pairs: Dataset, fold: int, folds: int) -> Dataset:
    """The pairs but those of one fold of the questions; question i, in first-seen order, is in fold i modulo `folds`.

    Raises ValueError for a fold that there is not.
    """
    if not 0 <= fold < folds:
        raise ValueError(f"fold: expected 0 to {folds - 1}, got {fold}")
    table = _table(pairs)
    question = np.cumsum(run_starts(table["question_id"])) - 1
    return _dataset(table.filter(pa.array(question % folds != fold)))


def from_rows(rows: Any, name: str = "rows") -> Dataset:
    """Pairs from memory under the same rules: a list of dicts, a pandas or Arrow table, or a `Dataset`.

    Raises ValueError that names the row, as `check` does.
    """
    if isinstance(rows, Sequence) and len(rows) > 0:
        tables = formats.tables_of_rows(((f"{name}, row {i}", row) for i, row in enumerate(rows, 1)), name, True)
    else:
        table = _table(rows) if isinstance(rows, Dataset) else rows
        table = pa.Table.from_pandas(rows, preserve_index=False) if isinstance(rows, pd.DataFrame) else table
        if not isinstance(table, pa.Table):
            raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset with rows, got {shorten(rows)}")
        tables = [formats.select(table, name, labelled=True)]
    return _dataset(pa.concat_tables(check(tables, name)))


def filter_questions(pairs: Dataset, questions: str) -> Dataset:
    """The pairs of the questions that a policy keeps: "answered", "mixed" or "all" (see `load_pairs`).

    Raises ValueError for another policy, and where the pairs have no label.
    """
    _require_policy(questions)
    if "label" not in pairs.column_names:
        raise ValueError("a policy needs labels: expected the column label, got none; load_unlabelled takes no policy")
    if questions == "all" or len(pairs) == 0:
        return pairs
    sizes, correct = _counts(pairs)
    return _of_questions(pairs, kept(sizes, correct, questions), sizes, questions)


def _only(pairs: Dataset, only: sources.Only) -> Dataset:
    """The pairs of the questions that a split says it keeps."""
    if not any(only) or len(pairs) == 0:
        return pairs
    sizes, correct = _counts(pairs)
    if only.unanswered:
        return _of_questions(pairs, correct == 0, sizes, "unanswered")
    return _of_questions(pairs, sizes >= only.candidates, sizes, f"{only.candidates}-or-more")


def _counts(pairs: Dataset) -> tuple[np.ndarray, np.ndarray | None]:
    """How many candidates each question has, and how many of them are correct: None without labels."""
    table = _table(pairs)
    starts = np.flatnonzero(run_starts(table["question_id"]))
    labels = table["label"].to_numpy() if "label" in table.column_names else None
    correct = None if labels is None else np.add.reduceat(labels, starts, dtype=np.int64)
    return np.diff(np.append(starts, table.num_rows)), correct


def _of_questions(pairs: Dataset, keep: np.ndarray, sizes: np.ndarray, called: str) -> Dataset:
    """The rows of the questions to keep; a large table in a file, named by it and by `called`."""
    table = _table(pairs)
    if keep.all():
        return pairs
    mask = pa.array(np.repeat(keep, sizes))
    if table.nbytes <= disk.LARGE:
        return _dataset(table.filter(mask))
    marked = (pa.Table.from_batches([batch]) for batch in table.append_column("kept", mask).to_batches())
    found = (batch.filter(batch["kept"]).drop_columns("kept") for batch in marked)
    return _dataset(disk.kept(f"pairs/{fingerprint(table)}-{called}", found))


def concatenate(sets: Iterable[Dataset]) -> Dataset:
    """Several sets of pairs, one after another.

    Raises ValueError where a question id is in two of them, or where their columns differ.
    """
    sets, owner = list(sets), {}
    if len({tuple(pairs.column_names) for pairs in sets}) != 1:
        got = "; ".join(", ".join(pairs.column_names) for pairs in sets) or "none"
        raise ValueError(f"concatenate: expected sets of pairs with the same columns, got {got}")
    for number, pairs in enumerate(sets, 1):
        for name in pairs.unique("question_id"):
            if owner.setdefault(name, number) != number:
                again = f"question_id {shorten(name)} is in set {owner[name]} and again in set {number}"
                raise ValueError(f"concatenate: {again}; give each set ids of its own")
    return datasets.concatenate_datasets(sets)


def fingerprint(pairs: Dataset | pa.Table | Table) -> str:
    """The SHA-256 of a set of pairs: of column names, rows and their order, not of how Arrow stores them."""
    names = [name for name in COLUMNS if name in pairs.column_names]
    table = _table(pairs) if isinstance(pairs, Dataset) else pairs
    total = hashlib.sha256(repr((names, table.num_rows)).encode())
    for name in names:
        lengths, content = hashlib.sha256(), hashlib.sha256()
        kind = pa.int64() if name == "label" else pa.large_string()
        for chunk in (chunk.cast(kind) for chunk in table[name].chunks):
            if name == "label":
                content.update(chunk.to_numpy())
            elif len(chunk):
                _, offsets, characters = chunk.buffers()  # the buffer may hold the texts of other rows as well
                ends = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
                lengths.update(np.diff(ends))
                content.update(memoryview(characters)[ends[0] : ends[-1]])
        total.update(lengths.digest() + content.digest())
    return total.hexdigest()


def _require_policy(questions: str) -> None:
    if questions not in POLICIES:
        raise ValueError(f"questions must be one of {', '.join(POLICIES)}, got {shorten(questions)}")


def _dataset(table: pa.Table | Table) -> Dataset:
    features = Features({name: FEATURES[name] for name in table.column_names})
    # Without a fingerprint of its own, Dataset would pickle the whole table to make one.
    return Dataset(table, info=DatasetInfo(features=features), fingerprint=fingerprint(table))


def _table(pairs: Dataset) -> pa.Table:
    return pairs.with_format("arrow")[:]


def _load(location: sources.Location, labelled: bool) -> pa.Table | Table:
    """The checked pairs of a location: in a file of their own where they were made or are large."""
    if location.kind == "own":
        rows = _table(from_rows(imported.load(location.name)(location.split), f"{location.name}:{location.split}"))
        return rows if labelled else rows.drop_columns("label")
    if location.kind == "hub":
        table = pa.concat_tables(_from_hub(location, labelled))
        return table if table.nbytes <= disk.LARGE else disk.kept(f"pairs/{fingerprint(table)}", [table])
    if location.kind == "sample":
        tables = check(_generated(location, labelled), location.name, labelled)
    elif location.builder:
        tables = check(builders.tables(location), location.name, labelled)
    else:
        tables = _from_files(location.files, location.name, labelled)
        if sum(path.stat().st_size for path in location.files) <= disk.LARGE:
            return pa.concat_tables(tables)
    made_from = json.dumps([_VERSION, sources.content(location), labelled], sort_keys=True)
    return disk.kept(f"pairs/{hashlib.sha256(made_from.encode()).hexdigest()}", tables)


def _from_hub(location: sources.Location, labelled: bool) -> Iterator[pa.Table]:
    name, which = location.name, {"revision": location.revision, "split": location.split}
    with sources.hub_reached(name, **which):
        loaded = datasets.load_dataset(name, location.config, **which)
    table = formats.select(_table(loaded), name, labelled, exact=False)
    return check([table], name, labelled, ids=lambda: location.split)


def _generated(location: sources.Location, labelled: bool) -> Iterator[pa.Table]:
    if labelled and location.name == sample.UNLABELLED:
        raise formats.NoLabels(f"{location.name} has no labels; load_unlabelled reads it")
    corpora = _generate_pool(location.seed) if location.name == sample.UNLABELLED else _generate(location.seed)
    yield pa.Table.from_pylist(corpora[location.name][location.split])


def _from_files(paths: Sequence[Path], name: str, labelled: bool) -> Iterator[pa.Table]:
    begins: list[int] = []  # the row that each file begins with

    def tables() -> Iterator[pa.Table]:
        rows = 0
        for path in paths:
            begins.append(rows)
            for table in formats.read(path, labelled):
                rows += len(table)
                yield table

    def locate(row: int) -> str:
        number = bisect(begins, row) - 1
        return formats.locate(paths[number], row - begins[number])

    # Made ids are named by content, as identities are: no two files share one, and a moved file keeps its own.
    return check(tables(), name, labelled, locate, ids=lambda: sources.file_sha256(paths[0])[:8])
