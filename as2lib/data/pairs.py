"""The pair table that everything reads: loads it, checks it, filters it by policy and fingerprints it; knows no model.

One `datasets.Dataset` with question_id, question, answer (text), label (int8, 0 or 1) and, where the source has them,
candidate_id (text). The rows of a question stand together. A table past `LARGE` bytes, and what is generated or built,
is a file in `work/pairs/`, mapped into memory: ASNQ has 23.7 M rows.
"""

import csv
import hashlib
import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from math import lgamma
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from datasets import Dataset, DatasetInfo, Features, Value

from as2lib.data import builders, sample, sets
from as2lib.data.sets import SPLITS, note, shorten
from as2lib.metrics.ranking import POLICIES
from as2lib.paths import whole_file, work_folder

COLUMNS = ("question_id", "question", "answer", "label")
# What people call our columns, in lower-case letters and digits; of two in one source the first here counts.
NAMES = {
    "question_id": "questionid qid queryid topicid key",
    "question": "question query questiontext querytext",
    "answer": "answer sentence candidate passage answertext sentencetext candidatetext passagetext text document",
    "label": "label iscorrect correct isanswer isrelevant relevant relevance rel target",
    "candidate_id": "candidateid sentenceid answerid passageid docid documentid pid",
}
WIKIQAS = {"documentid", "documenttitle"}  # columns of a known set that are passed over in silence
FEATURES = Features({name: Value("int8" if name == "label" else "string") for name in NAMES})
LARGE = 64 << 20  # bytes of text past which pairs are kept on disk
SHARES = {"dev": 0.1, "test": 0.2}  # of the questions; the others are for training
LEAST = 20  # questions with a correct and an incorrect candidate: fewer say nothing of three splits
IMPLAUSIBLE = 0.98  # MAP of the original order, past which somebody sorted by label
_VERSION = 2  # raise it when the same files would give other pairs
_BATCH = 8192  # rows checked at once

Table = tuple[str, int, pa.Table]  # a file's name, how many of its rows come before, the rows under our names


class NoLabels(ValueError):
    """Raised where labels are asked for and the data have none; `load_unlabelled` reads them."""


def load_pairs(source: Any, split: str | None = None, questions: str = "answered") -> Dataset:
    """The checked pairs of a source, restricted to the questions that a policy keeps.

    source: a known name, a path or a hub set, as `sets.resolve` has it; or a list of dicts, a pandas or Arrow table, a
        `Dataset`, or a mapping of splits to these, in memory.  Columns are recognised by the `NAMES` that people use.
    split: train, dev or test; None for what has no splits.
    questions: "answered" keeps questions with a correct candidate, "mixed" those with an incorrect one as well, "all"
        every question.
    Returns the columns question_id, question, answer, label and, where the source has it, candidate_id; rows in the
        order of the source, those of a question together. Where ids are missing, equal questions get one of their own.
    Raises ValueError that names file, row (from 1) and column for data that break a rule; where no question is left;
    and where a known set has other pairs than `sets.FINGERPRINTS` says.
    """
    _require_policy(questions)
    if not isinstance(source, str | Path):
        name, pairs = "pairs", _dataset(_in_memory(source, split, labelled=True))
        _warn_of_order(name, pairs)
        return _require_questions(filter_questions(pairs, questions), name, questions)
    location, known = sets.resolve(source, split), sets.known(source, split)
    every = _load(location, labelled=True)
    if known and (digest := fingerprint(every)) != known["pairs"]:
        raise ValueError(
            f"{source}:{split}: expected the pairs of fingerprint {known['pairs'][:12]}, got {len(every)} other pairs "
            f"({digest[:12]}) from {location.name}; name another version by its path, or as name@revision"
        )
    if location.order == "own":
        _warn_of_order(location.name, every)
    name = f"{location.name}: {split}" if any(location.only) else location.name
    return _require_questions(filter_questions(_only(every, location.only), questions), name, questions)


def load_unlabelled(source: Any, split: str | None = None) -> Dataset:
    """The same table without `label`; no policy applies.  Raises what `load_pairs` raises, except about labels."""
    if not isinstance(source, str | Path):
        return _dataset(_in_memory(source, split, labelled=False))
    # A known set has the fingerprint of its labelled pairs; unanswered questions are chosen by labels, all 0 then.
    if sets.known(source, split) or sets.with_only(split)[1].unanswered:
        return load_pairs(source, split, "all").remove_columns("label")
    location = sets.resolve(source, split)
    return _only(_load(location, labelled=False), location.only)


def load_parts(parts: Sequence[str], questions: str = "answered") -> Dataset:
    """The pairs of `source:split` parts, one after the other; kept in memory as long as their identities stay."""
    return _parts(tuple(parts), _identities(parts), questions)


def load_unlabelled_parts(parts: Sequence[str]) -> Dataset:
    """What `load_parts` does, without labels and without a policy."""
    return _parts(tuple(parts), _identities(parts), None)


def load_splits(source: str | Path, seed: int = 0) -> dict[str, Dataset]:
    """Every pair of a source as train, dev and test: those that it has, the others taken from train by `split_own`.

    source: a file, a folder of splits, or a known set.
    Raises what `load_pairs` raises, and ValueError where there is nothing to train on.
    """
    path = sets.on_disk(source)
    if path and path.is_file():
        return split_own(load_pairs(source, questions="all"), seed)
    splits = {}
    for split in SPLITS:
        try:
            splits[split] = load_pairs(source, split, "all")
        except sets.NoSplit:
            continue
    if "train" not in splits:
        raise ValueError(f"{source}: expected pairs to train on, got {' and '.join(splits)} only; bring a train file")
    shares = {split: share for split, share in SHARES.items() if split not in splits}
    return splits | (split_own(splits["train"], seed, shares) if shares else {})


def split_own(pairs: Dataset, seed: int = 0, shares: Mapping[str, float] = SHARES) -> dict[str, Dataset]:
    """Pairs in train and the splits of `shares`, by the text of a question: no two splits have one in common.

    Questions with a correct and an incorrect candidate are shared out evenly, and so are the others.
    Raises ValueError for fewer than `LEAST` questions with both.
    """
    table = pairs.to_pandas()
    text = table["question"].map(plain)
    mixed = table.groupby(text, sort=False)["label"].nunique() == 2
    if mixed.sum() < LEAST:
        raise ValueError(
            f"expected at least {LEAST} questions with a correct and an incorrect candidate to split, got "
            f"{mixed.sum()} of {len(mixed)}; bring more, or a folder with train, dev and test files"
        )
    split_of: dict[str, str] = {}
    for group in (mixed.index[mixed], mixed.index[~mixed]):
        order = random.Random(seed).sample(list(group), len(group))
        for split, share in shares.items():
            count = round(share * len(group))
            split_of |= dict.fromkeys(order[:count], split)
            order = order[count:]
    split_of_row = text.map(split_of).fillna("train").to_numpy()
    splits = {name: _dataset(_arrow(pairs).filter(pa.array(split_of_row == name))) for name in ("train", *shares)}
    counts = ", ".join(f"{name} {len(part.unique('question_id')):,}" for name, part in splits.items())
    note(f"splits: made by question, at random with seed {seed}: {counts} questions")
    return splits


def draw_questions(pairs: Dataset, most: int, seed: int = 0) -> Dataset:
    """At most so many questions of labelled pairs, drawn at random, the answered ones first; rows in their order."""
    answered = pairs.to_pandas().groupby("question_id", sort=False)["label"].max()
    order = random.Random(seed).sample(list(answered.index), len(answered))
    drawn = sorted(order, key=lambda name: not answered[name])[:most]
    return _dataset(_arrow(pairs).filter(pc.is_in(_arrow(pairs)["question_id"], pa.array(drawn))))


def save_pairs(pairs: Dataset, path: str | Path) -> None:
    """Write pairs as Parquet or JSONL, whole or not at all: the formats that keep any text as it is."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".jsonl"):
        raise ValueError(f"{path}: expected a file that ends in .parquet or .jsonl, got {path.suffix or 'none'}")
    with whole_file(path) as temporary:
        if suffix == ".parquet":
            parquet.write_table(_arrow(pairs), temporary)
        else:
            rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in pairs)
            with temporary.open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(rows)


def stream_unlabelled(path: str | Path) -> Iterator[pa.Table]:
    """The checked pairs of one file, without labels, some thousand rows at a time: memory does not grow with the file.

    Raises what `load_unlabelled` raises, when it comes to the row; also where the rows of a question lie apart.
    """
    location = sets.resolve(Path(path))
    return _checked(_tables(location, labelled=False), location.name, labelled=False, apart=False)


# Policies


def filter_questions(pairs: Dataset, questions: str) -> Dataset:
    """The pairs of the questions that a policy keeps: "answered", "mixed" or "all" (see `load_pairs`).

    Raises ValueError for another policy, and where the pairs have no label.
    """
    _require_policy(questions)
    if "label" not in pairs.column_names:
        raise ValueError("a policy needs labels: expected the column label, got none; load_unlabelled takes no policy")
    if questions == "all" or len(pairs) == 0:
        return pairs
    sizes, correct = _counts(_arrow(pairs))
    keep = correct > 0
    if questions == "mixed":
        keep &= correct < sizes
    return _of_questions(pairs, keep, sizes, questions)


def leave_out(pairs: Dataset, fold: int, folds: int) -> Dataset:
    """The pairs but those of one fold of the questions; question i, in first-seen order, is in fold i modulo `folds`.

    Raises ValueError for a fold that there is not.
    """
    if not 0 <= fold < folds:
        raise ValueError(f"fold: expected 0 to {folds - 1}, got {fold}")
    table = _arrow(pairs)
    question = np.cumsum(_run_starts(table["question_id"])) - 1
    return _dataset(table.filter(pa.array(question % folds != fold)))


def concatenate(sets_of_pairs: Iterable[Dataset]) -> Dataset:
    """Several sets of pairs, one after another; candidate_id where each has it.

    Raises ValueError where a question id is in two of them, or where only some have labels.
    """
    sets_of_pairs = list(sets_of_pairs)
    labelled = {"label" in pairs.column_names for pairs in sets_of_pairs}
    if len(labelled) != 1:
        came = "some with labels and some without" if labelled else "none"
        raise ValueError(f"concatenate: expected sets of pairs with labels, or without; got {came}")
    owner: dict[str, int] = {}
    for number, pairs in enumerate(sets_of_pairs, 1):
        for name in pairs.unique("question_id"):
            if owner.setdefault(name, number) != number:
                again = f"question_id {shorten(name)} is in set {owner[name]} and again in set {number}"
                raise ValueError(f"concatenate: {again}; give each set ids of its own")
    if len(sets_of_pairs) == 1:
        return sets_of_pairs[0]
    shared = [name for name in FEATURES if all(name in pairs.column_names for pairs in sets_of_pairs)]
    return datasets.concatenate_datasets([pairs.select_columns(shared) for pairs in sets_of_pairs])


def fingerprint(pairs: Dataset | pa.Table) -> str:
    """The SHA-256 of a set of pairs: of our four columns, rows and their order, not of how Arrow stores them."""
    names = [name for name in COLUMNS if name in pairs.column_names]
    table = _arrow(pairs) if isinstance(pairs, Dataset) else pairs
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


# Leaks


class Leaks(NamedTuple):
    """What two sets of pairs share, in the texts of the first: its questions, and its (question, answer) pairs."""

    questions: list[str]
    pairs: list[tuple[str, str]]


def leaks(a: Dataset, b: Dataset) -> Leaks:
    """The questions, and the pairs, of `a` that are in `b` as well; texts are compared by `plain`."""
    first, second = (_plain_pairs(pairs) for pairs in (a, b))
    asked = {question for question, _ in second.values()}
    questions = dict.fromkeys(text for (text, _), (question, _) in first.items() if question in asked)
    known = set(second.values())
    return Leaks(list(questions), [texts for texts, same in first.items() if same in known])


def plain(text: str) -> str:
    """A text as it is compared: NFKC, case-folded, each run of blanks one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _plain_pairs(pairs: Dataset) -> dict[tuple[str, str], tuple[str, str]]:
    """The distinct (question, answer) of some pairs → the same as they are compared."""
    plain_of = {question: plain(question) for question in pairs.unique("question")}
    distinct = dict.fromkeys(zip(pairs["question"][:], pairs["answer"][:], strict=True))
    return {(question, answer): (plain_of[question], plain(answer)) for question, answer in distinct}


# The order of candidates


def label_blind_order(pairs: Dataset | pa.Table) -> np.ndarray:
    """(n,) row numbers: questions as they come, their candidates by the SHA-256 of question_id and text, stable.

    What a set is read in whose own order means nothing, or gives the labels away.
    """
    table = _arrow(pairs) if isinstance(pairs, Dataset) else pairs
    question = np.cumsum(_run_starts(table["question_id"]))
    texts = zip(table["question_id"].to_pylist(), table["answer"].to_pylist(), strict=True)
    digests = (hashlib.sha256(f"{name}\0{answer}".encode()).digest()[:8] for name, answer in texts)
    keys = np.frombuffer(b"".join(digests), dtype=">u8")
    return np.lexsort((keys, question))


def position_map(source: str | Path, split: str | None = None) -> pd.DataFrame:
    """Where each candidate of a set without a meaning in its order stood in its source, and where it stands now.

    With it, scores that were published in the source's order are laid anew: merge on question_id and `old`.
    Returns columns question_id, `old` and `new` (positions from 0 within a question), rows as `load_pairs` gives "all".
    """
    table = _source_order(sets.resolve(source, split), labelled=True)
    order = label_blind_order(table)
    names = table["question_id"].to_pandas()
    positions = names.groupby(names, sort=False).cumcount().to_numpy()
    # Questions keep their rows, so that the new positions are the old ones as they were counted.
    return pd.DataFrame({"question_id": names.to_numpy()[order], "old": positions[order], "new": positions})


def order_means_something(pairs: Dataset | str) -> bool:
    """Whether the order of a question's candidates may be read by a ranker.

    pairs: pairs, or a `source:split` part.  It may not where a known set says so, where the candidates stand in
    `label_blind_order`, or where it alone ranks implausibly well (`order_map`).
    """
    if isinstance(pairs, str):
        source, split = sets.split_part(pairs)
        location = sets.resolve(source, split)
        if location.order != "own":
            return location.order is not None
        pairs = load_pairs(source, split, "all")
    sizes, _ = _counts(_arrow(pairs))
    by_chance = sum(map(lgamma, (sizes + 1).tolist()))  # log of one over the chance that they stand so
    if by_chance > 14 and np.array_equal(label_blind_order(pairs), np.arange(len(pairs))):
        return False
    return "label" not in pairs.column_names or not order_map(pairs) > IMPLAUSIBLE


def order_map(pairs: Dataset | pa.Table) -> float:
    """The MAP, in [0, 1], of the original order over questions with both labels; NaN for fewer than `LEAST`."""
    table = _arrow(pairs) if isinstance(pairs, Dataset) else pairs
    sizes, correct = _counts(table)
    mixed = (correct > 0) & (correct < sizes)
    if mixed.sum() < LEAST:
        return float("nan")
    label = table["label"].to_numpy().astype(np.int64)
    start = np.repeat(np.cumsum(sizes) - sizes, sizes)
    position = np.arange(len(label)) - start + 1
    before = np.cumsum(label) - label
    rank = before - before[start] + 1  # of a correct candidate among the correct ones of its question
    precision = np.add.reduceat(label * rank / position, np.cumsum(sizes) - sizes)
    return float(np.mean(precision[mixed] / correct[mixed]))


def _warn_of_order(name: str, pairs: Dataset) -> None:
    value = order_map(pairs)
    if value > IMPLAUSIBLE:
        note(
            f"{name}: the order of the candidates alone has MAP {100 * value:.1f}: it gives the labels away; "
            "believe no ranker that reads it, and shuffle each question's rows"
        )


# Loading


def _identities(parts: Sequence[str]) -> str:
    return json.dumps([sets.identity(*sets.split_part(part)) for part in parts], sort_keys=True)


@lru_cache(maxsize=16)
def _parts(parts: tuple[str, ...], identities: str, questions: str | None) -> Dataset:
    sources = [sets.split_part(part) for part in parts]
    if questions is None:
        return concatenate([load_unlabelled(*source) for source in sources])
    return concatenate([load_pairs(*source, questions=questions) for source in sources])


def _load(location: sets.Location, labelled: bool) -> Dataset:
    """The checked pairs of a location: in a file of their own where they were made or are large."""
    if location.order is None:
        table = _source_order(location, labelled)
        return _dataset(table.take(pa.array(label_blind_order(table))))
    large = location.kind == "files" and sum(path.stat().st_size for path in location.files) > LARGE
    if not (large or location.builder or location.kind == "sample"):
        return _dataset(_source_order(location, labelled))
    every = sets.content(replace(location, only=sets.ALL))
    name = hashlib.sha256(json.dumps([_VERSION, every, labelled], sort_keys=True).encode()).hexdigest()
    return arrow_file(
        f"pairs/{name}", lambda: _checked(_tables(location, labelled), location.name, labelled, apart=False)
    )


def _source_order(location: sets.Location, labelled: bool) -> pa.Table:
    """The checked pairs of a location, in memory, in the order of their source."""
    # SelQA has no ids on the hub: a run of equal questions is one.
    run_ids = location.split if location.order is None else None
    return _together(_checked(_tables(location, labelled), location.name, labelled, run_ids=run_ids), location.name)


def _in_memory(source: Any, split: str | None, labelled: bool) -> pa.Table:
    """The checked pairs of a list of dicts, a table or a `Dataset`, or of one split of a mapping to these."""
    name = "pairs"
    if isinstance(source, Mapping):
        if split not in source:
            raise sets.NoSplit(f"{name}: expected one of the splits {', '.join(map(str, source))}, got {split}")
        source, name, split = source[split], split, None
    if split is not None:
        raise sets.NoSplit(f'{name}: pairs in memory have no splits, got split "{split}"; leave the split out')
    if isinstance(source, Dataset):
        source = _arrow(source)
    if isinstance(source, pa.Table):
        tables = [(0, _selected(source, name, labelled))]
    elif isinstance(source, pd.DataFrame):
        columns = _columns(list(source.columns), name, labelled)
        texts = {ours: _texts(source[its].tolist(), ours, name, 0) for ours, its in columns.items()}
        tables = [(0, pa.table(texts))]
    elif isinstance(source, Sequence) and not isinstance(source, str | bytes) and len(source):
        tables = _of_dicts(source, name, labelled)
    else:
        raise ValueError(f"{name}: expected a list of dicts, a table or a Dataset with rows, got {shorten(source)}")
    return _together(_checked(((name, *table) for table in tables), name, labelled), name)


def _tables(location: sets.Location, labelled: bool) -> Iterator[Table]:
    if location.kind == "sample":
        corpora = _pool(location.seed) if location.name == sample.UNLABELLED else _corpora(location.seed)
        table = pa.Table.from_pylist(corpora[location.name][location.split])
        yield location.name, 0, _selected(table, location.name, labelled)
    elif location.builder:
        for table in builders.tables(location):
            yield location.name, 0, table
    elif location.kind == "hub":
        which = {"revision": location.revision, "split": location.hub_split}
        with sets.hub_reached(location.name, **which):
            hub_set = datasets.load_dataset(location.name, location.config, **which)
        yield location.name, 0, _selected(_arrow(hub_set), location.name, labelled)
    else:
        for path in location.files:
            yield from ((path.name, *table) for table in _read(path, labelled))


_corpora, _pool = (lru_cache(maxsize=2)(generate) for generate in (sample.generate, sample.generate_unlabelled))


# Files: each reader gives the number of rows before a table, and the table under our column names


def _read(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """The columns that we need of one TSV, CSV, JSONL or Parquet file, unchecked, some thousand rows a table.

    Raises ValueError for bytes that are not UTF-8, a row of another length, a quote left open, or missing columns.
    """
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name}: expected at least one row, got an empty file")
    if path.suffix.lower() == ".parquet":
        yield from _parquet(path, labelled)
        return
    try:
        if path.suffix.lower() == ".jsonl":
            with path.open(encoding="utf-8-sig", newline="\n") as stream:
                yield from _of_dicts(_json_rows(path.name, stream), path.name, labelled)
        else:
            yield from _delimited(path, labelled)
    except UnicodeDecodeError:
        raise _not_utf8(path) from None


def _parquet(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    try:
        with parquet.ParquetFile(path) as file:
            columns = _columns(file.schema_arrow.names, path.name, labelled)
            first = 0
            for batch in file.iter_batches(_BATCH, columns=list(columns.values())):
                table = pa.Table.from_batches([batch]).select(list(columns.values()))
                yield first, table.rename_columns(list(columns))
                first += len(table)
    except (pa.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise ValueError(f"{path.name}: expected a Parquet file, got {problem}") from None


def _delimited(path: Path, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """A CSV, quoted as RFC 4180 has it, between commas or semicolons; or a TSV.

    A TSV has a row a line, and a quote is text; but a field that pandas' `to_csv(sep="\t")` would have quoted, and that
    is written as it does (between quotes, each quote in it doubled), is read as the text that pandas had.
    """
    rows = _quoted_rows(path) if path.suffix.lower() == ".csv" or _has_quoted_breaks(path) else _tsv_rows(path)
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


def _tsv_rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8-sig", newline="\n") as stream:
        for line in stream:
            if line := line.rstrip("\r\n"):
                fields = line.split("\t")
                yield [_unquoted(field) for field in fields] if '"' in line else fields


def _unquoted(field: str) -> str:
    """A field as pandas had it, if it wrote it between quotes for a quote or a carriage return in it."""
    if field[:1] == '"' and re.fullmatch(r'"(?:[^"]|"")*"', field) and ('""' in field[1:-1] or "\r" in field):
        return field[1:-1].replace('""', '"')
    return field


def _has_quoted_breaks(path: Path) -> bool:
    """Whether a TSV's quotes hold tabs or line breaks: where the first line of another length has an opening quote.

    So has the header of a TSV whose fields are all quoted.
    """
    with path.open("rb") as stream:
        header = stream.readline().removeprefix(b"\xef\xbb\xbf")
        if header.startswith(b'"'):
            return True
        tabs = header.count(b"\t")
        ragged = next((line for line in stream if line.count(b"\t") != tabs and line.strip()), b"")
    return re.search(rb'(?:^|\t)"', ragged) is not None


def _quoted_rows(path: Path) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)  # of this process: a field may be a whole page
    with path.open(encoding="utf-8-sig", newline="") as stream:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;", key=stream.readline().count)
        stream.seek(0)
        number, width = 0, 0
        try:
            for fields in csv.reader(stream, delimiter=delimiter, strict=True):
                if not fields:  # a blank line
                    continue
                width = width or len(fields)
                if any("\n" in field and field.count(delimiter) >= width - 1 > 0 for field in fields):
                    raise csv.Error("a field that holds whole rows, for its quote is not closed where it should be")
                yield fields
                number += 1
        except csv.Error as error:
            wanted = "a field with quotes to stand between quotes, and each quote in it to be doubled"
            where = f"{path.name}, row {number}" if number else f"{path.name}, header"
            raise ValueError(f"{where}: expected {wanted}, got {error}") from None


def _json_rows(name: str, lines: Iterable[str]) -> Iterator[Any]:
    for row, line in enumerate(filter(str.strip, lines), 1):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}, row {row}: expected a JSON object, got {shorten(str(error))}") from None


def _of_dicts(rows: Iterable[Any], name: str, labelled: bool) -> Iterator[tuple[int, pa.Table]]:
    """Tables of rows that are dicts, under the columns of the first."""
    rows, columns, first = iter(rows), None, 0
    while batch := list(islice(rows, _BATCH)):
        for row, values in enumerate(batch, first + 1):
            if not isinstance(values, Mapping):
                raise ValueError(
                    f"{name}, row {row}: expected an object with {_wanted(labelled)}, got {shorten(values)}"
                )
        columns = columns or _columns(list(batch[0]), name, labelled)
        texts = {ours: [values.get(its) for values in batch] for ours, its in columns.items()}
        yield first, pa.table({ours: _texts(values, ours, name, first) for ours, values in texts.items()})
        first += len(batch)


def _not_utf8(path: Path) -> ValueError:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where, byte = f"{path.name}, line {number}", line[error.start]
                return ValueError(f"{where}: expected UTF-8 text, got the byte 0x{byte:02x}; save the file as UTF-8")
    return ValueError(f"{path.name}: expected UTF-8 text")


def _selected(table: pa.Table, name: str, labelled: bool) -> pa.Table:
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
    for ours, called in NAMES.items():
        their = next((theirs[word] for word in called.split() if word in theirs), None)
        if their is not None and (labelled or ours != "label"):
            columns[ours] = their
    missing = [ours for ours in ("question", "answer", "label")[: 3 if labelled else 2] if ours not in columns]
    if missing:
        called = "; ".join(f"{ours} ({', '.join(NAMES[ours].split()[:4])}, …)" for ours in missing)
        error = NoLabels if missing == ["label"] else ValueError
        raise error(f"{name}: expected a column for {called}; got {_listed(names) or 'none'}")
    silent = WIKIQAS if labelled else {*WIKIQAS, *NAMES["label"].split()}
    if unused := [their for plain, their in theirs.items() if their not in columns.values() and plain not in silent]:
        note(f"{name}: columns that are not read: {_listed(unused)}")
    return columns


def _wanted(labelled: bool) -> str:
    return "a question, an answer and a label" if labelled else "a question and an answer"


def _listed(names: Iterable[Any]) -> str:
    """Names as an error gives them: on one line, each of at most 60 characters, the first twelve."""
    names = [str(name) for name in islice(names, 13)]
    short = [name if name.isprintable() and len(name) <= 60 else shorten(name) for name in names]
    return ", ".join([*short[:12], *["…"] * (len(short) > 12)])


# Rules


def _checked(
    tables: Iterable[Table], name: str, labelled: bool, apart: bool = True, run_ids: str | None = None
) -> Iterator[pa.Table]:
    """The tables of one set with our types, if it keeps every rule; each is tested on whole columns.

    A text is neither empty nor blank; a label is 0 or 1, true or false; a question_id has one question text.
    apart: whether the rows of a question may lie apart.  run_ids: where ids are missing, each run of equal questions
    gets `<run_ids>-1`, …; None: equal questions get one id, a hash of their text that no file's own ids are.
    Raises ValueError in one line that says where, what was expected and what came.
    """
    begun: dict[str, tuple[str, str]] = {}  # question_id → (its question, the row that it begins at)
    last, runs, empty = None, 0, True
    for file, first, table in tables:
        if not len(table):
            continue
        empty = False

        def where(row: int, file: str = file, first: int = first) -> str:
            return f"{file}, row {first + row + 1}"

        columns = {
            key: _text(table[key], key, where) for key in FEATURES if key != "label" and key in table.column_names
        }
        begins = _run_starts(columns["question"])
        if "question_id" in columns:
            begins |= _run_starts(columns["question_id"])
        starts = np.flatnonzero(begins)
        questions = columns["question"].take(pa.array(starts)).to_pylist()
        names: list[str | None] = [None] * len(starts)
        if "question_id" in columns:
            names = columns["question_id"].take(pa.array(starts)).to_pylist()
        for number, (row, question) in enumerate(zip(starts.tolist(), questions, strict=True)):
            going_on = row == 0 and last is not None and question == last[1] and names[number] in (None, last[0])
            if names[number] is None:
                runs += not going_on
                digest = hashlib.sha256(question.encode()).hexdigest()
                names[number] = f"{run_ids}-{runs}" if run_ids else f"q-{digest[:12]}"
            last = (names[number], question)
            asked, at = begun.setdefault(names[number], (question, where(row)))
            if asked != question:
                raise ValueError(
                    f"{where(row)}: expected one question a question_id, got {shorten(names[number])} for "
                    f"{shorten(question)}, after {shorten(asked)} in {at}; give each its own id"
                )
            if not (apart or going_on) and at != where(row):
                raise ValueError(
                    f"{where(row)}: expected the rows of a question together, got question_id {shorten(names[number])} "
                    f"again, first in {at}; sort the rows by question"
                )
        if "question_id" not in columns:
            sizes = np.diff(np.append(starts, len(table)))
            columns["question_id"] = pa.chunked_array([np.repeat(np.array(names, object), sizes)], pa.string())
        if labelled:
            columns["label"] = _labels(table["label"], where)
        yield pa.table({key: columns[key] for key in FEATURES if key in columns})
    if empty:
        raise ValueError(f"{name}: expected at least one row, got none")


def _text(column: pa.ChunkedArray, key: str, where: Callable[[int], str]) -> pa.ChunkedArray:
    """A column as texts, of which none is blank."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (number or any(test(kind) for test in _TEXTS)):
        raise ValueError(f"{where(0)}: {key}: expected text, got a column of type {kind!s:.60}")
    try:
        column = column.cast(kind)
        column.validate(full=True)
        column = column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [text or b"" for text in column.cast(pa.binary()).to_pylist()]
        row = next((row for row, text in enumerate(texts) if text.decode(errors="ignore").encode() != text), 0)
        raise ValueError(f"{where(row)}: {key}: expected UTF-8 text, got other bytes") from None
    blank = pc.or_(pc.utf8_is_space(column), pc.equal(pc.binary_length(column), 0))
    row = pc.index(pc.fill_null(blank, True), True).as_py()
    if row >= 0:
        raise ValueError(
            f"{where(row)}: {key}: expected text, got {_shown(column[row].as_py())}; fill it in or leave the row out"
        )
    return column


_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)


def _labels(column: pa.ChunkedArray, where: Callable[[int], str]) -> pa.ChunkedArray:
    try:
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
    except pa.ArrowException:
        raise ValueError(f"{where(0)}: label: expected 0 or 1, got a column of type {column.type!s:.60}") from None
    zeros, ones = (
        pc.is_in(texts, value_set=pa.array(words)) for words in (["0", "0.0", "false"], ["1", "1.0", "true"])
    )
    row = pc.index(pc.or_(zeros, ones), False).as_py()
    if row >= 0:
        text = column[row].as_py()
        grade = re.fullmatch(r"[2-9]|1[0-9]", str(text).removesuffix(".0"))
        way_out = "; of grades, write 1 for those that count as correct, 0 for the others" if grade else ""
        raise ValueError(f"{where(row)}: label: expected 0 or 1 (or true, false), got {_shown(text)}{way_out}")
    return ones.cast(pa.int8())


def _shown(value: Any) -> str:
    return "nothing" if value in (None, "") else shorten(value)


def _texts(values: Sequence[Any], key: str, name: str, first: int) -> pa.Array:
    """Values from Python as an Arrow column of texts: numbers as they are written, None and NaN as null."""
    texts = []
    for row, value in enumerate(values, first + 1):
        if isinstance(value, str):
            texts.append(value)
        elif value is None or value is pd.NA or value != value:
            texts.append(None)
        elif isinstance(value, int | float | np.number | np.bool_) and (key == "label" or not isinstance(value, bool)):
            texts.append(str(value))
        elif key == "label":
            texts.append(shorten(value))
        else:
            raise ValueError(f"{name}, row {row}: {key}: expected text, got {shorten(value)}")
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # half a character of two
        return pa.array([text and _LONE.sub("\ufffd", text) for text in texts], pa.string())


_LONE = re.compile("[\ud800-\udfff]")


def _together(tables: Iterable[pa.Table], name: str) -> pa.Table:
    """The tables as one, the rows of a question side by side, in the order in which questions first come."""
    table = pa.concat_tables(tables)
    question = pd.factorize(table["question_id"].to_pandas())[0]
    if np.all(np.diff(question) >= 0):
        return table
    note(f"{name}: the rows of each question are brought together, in their order")
    return table.take(pa.array(np.argsort(question, kind="stable")))


def _require_policy(questions: str) -> None:
    if questions not in POLICIES:
        raise ValueError(f"questions must be one of {', '.join(POLICIES)}; got {shorten(questions)}")


def _require_questions(pairs: Dataset, name: str, questions: str) -> Dataset:
    if len(pairs) == 0:
        raise ValueError(f'{name}: no question is left under questions="{questions}"; "all" keeps every one')
    return pairs


# Arrow


def _only(pairs: Dataset, only: sets.Only) -> Dataset:
    """The pairs of the questions that a split says it keeps."""
    if not any(only) or len(pairs) == 0:
        return pairs
    sizes, correct = _counts(_arrow(pairs))
    if only.unanswered:
        return _of_questions(pairs, correct == 0, sizes, "unanswered")
    return _of_questions(pairs, sizes >= only.candidates, sizes, f"{only.candidates}-or-more")


def _counts(table: pa.Table) -> tuple[np.ndarray, np.ndarray | None]:
    """How many candidates each question has, and how many of them are correct: None without labels."""
    starts = np.flatnonzero(_run_starts(table["question_id"]))
    labels = table["label"].to_numpy() if "label" in table.column_names else None
    correct = None if labels is None else np.add.reduceat(labels, starts, dtype=np.int64)
    return np.diff(np.append(starts, table.num_rows)), correct


def _of_questions(pairs: Dataset, keep: np.ndarray, sizes: np.ndarray, policy: str) -> Dataset:
    """The rows of the questions to keep; a large table in a file, named by it and by the policy."""
    if keep.all():
        return pairs
    table, mask = _arrow(pairs), pa.array(np.repeat(keep, sizes))
    if table.nbytes <= LARGE:
        return _dataset(table.filter(mask))
    marked = (pa.Table.from_batches([batch]) for batch in table.append_column("keep", mask).to_batches())
    kept = (part.filter(part["keep"]).drop_columns("keep") for part in marked)
    return arrow_file(f"pairs/{fingerprint(table)}-{policy}", lambda: kept)


def arrow_file(name: str, tables: Callable[[], Iterable[pa.Table]]) -> Dataset:
    """Tables of one schema as `work/<name>.arrow`, mapped into memory; written, whole, where it is not there."""
    path = work_folder() / f"{name}.arrow"
    if not path.exists():
        parts = iter(tables())
        head = next(parts)
        with (
            whole_file(path) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            pa.ipc.new_stream(sink, head.schema) as writer,
        ):
            for table in chain([head], parts):
                writer.write_table(table, max_chunksize=1 << 16)
    return Dataset.from_file(str(path))


def _run_starts(column: pa.ChunkedArray) -> np.ndarray:
    """For each row, whether its value differs from the one before."""
    return np.append(True, pc.not_equal(column[1:], column[:-1]).to_numpy())


def _dataset(table: pa.Table) -> Dataset:
    features = Features({name: FEATURES[name] for name in table.column_names})
    # Without a fingerprint of its own, Dataset would pickle the whole table to make one.
    return Dataset(table, info=DatasetInfo(features=features), fingerprint=fingerprint(table))


def _arrow(pairs: Dataset) -> pa.Table:
    return pairs.with_format("arrow")[:]
