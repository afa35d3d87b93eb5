"""The pair table that everything reads: loads it, checks it, filters it by policy and fingerprints it; knows no model.

One `datasets.Dataset` with question_id, question, answer (text), label (int8, 0 or 1) and, where the source has them,
candidate_id (text). The rows of a question stand together.
"""

import hashlib
import json
import random
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from datasets import Dataset

from as2lib.data import sets
from as2lib.data.columns import NAMES
from as2lib.data.sets import COLUMNS, SPLITS, note
from as2lib.data.tables import checked, content_of, frame_of, in_memory, questions_of
from as2lib.metrics import ranking
from as2lib.paths import whole_file, work_folder

SAMPLE_FILE = Path(__file__).with_name("sample.parquet")
SHARES = {"dev": 0.1, "test": 0.2}  # of the questions; the others are for training
QUESTIONS_TO_SPLIT = 20  # questions with a correct and an incorrect candidate: fewer say nothing of three splits
ENCODED_TOGETHER = 4_096  # pairs
ENCODING = 2  # raised when an encoder of the same settings would encode the same pairs differently
ROWS_READ = 40_000  # by which the original order is judged
IMPLAUSIBLE = 0.98  # MAP of the original order, past which somebody sorted by label

Source: TypeAlias = str | Path | Dataset | pd.DataFrame | Sequence[Mapping[str, Any]]


def load_pairs(source: Source, split: str | None = None, questions: str | None = "answered") -> Dataset:
    """The checked pairs of a source, restricted to the questions that a policy keeps.

    source: a known name, a path or a hub set, as `sets.resolve` has it; or a list of dicts, a pandas table or a
        `Dataset`.  Columns are recognised by the `NAMES` that people use.
    split: train, dev or test; None for what has no splits.
    questions: "answered" keeps questions with a correct candidate, "mixed" those with an incorrect one as well, "all"
        every question; None: every one, without `label`, which the source need not have.
    Rows keep the source's order, those of a question together; where ids are missing, equal questions share a new one.
    Raises ValueError that names file, row (from 1) and column for data that break a rule; where no question is left;
    and where a known set has other pairs than `sets.FINGERPRINTS` says.
    """
    name, only, labelled = "pairs", {}, questions is not None
    if isinstance(source, str | Path):
        location, known = sets.resolve(source, split), sets.known(source, split)
        name, only = location.name, location.only
        # Labels also say which questions are meant, or are part of a known set's fingerprint.
        pairs = _load(location, labelled or known is not None or bool({"answered", "unanswered"} & {*only}))
        if known and (digest := fingerprint(pairs)) != known["pairs"]:
            got = f"{len(pairs)} others ({digest[:12]}) from {name}; another version has its path, or name@revision"
            raise ValueError(f"{source}:{split}: expected the pairs of fingerprint {known['pairs'][:12]}, got {got}")
    else:
        pairs = _dataset(checked(in_memory(source, split, labelled), labelled))
    if questions is None:
        return _only(pairs, only).select_columns([column for column in pairs.column_names if column != "label"])
    if warning := order_warning(name, pairs):
        note(warning)
    pairs = filter_questions(_only(pairs, only), questions)
    if len(pairs) == 0:
        raise ValueError(f'{name}: no question is left under questions="{questions}"; "all" keeps every one')
    return pairs


def load_parts(parts: Sequence[str], questions: str | None = "answered") -> Dataset:
    """The pairs of `source:split` parts, one after the other; kept in memory as long as their identities stay.

    An id that two parts have is one question; candidate_id is there where each part has it.
    Raises what `load_pairs` raises, also where an id has two texts.
    """
    identities = [sets.identity(*sets.split_part(part)) for part in parts]
    return _parts(tuple(parts), json.dumps(identities, sort_keys=True), questions)


@lru_cache(maxsize=16)
def _parts(parts: tuple[str, ...], identities: str, questions: str | None) -> Dataset:
    tables = {part: load_pairs(*sets.split_part(part), questions) for part in parts}
    if len(tables) == 1:
        return tables[parts[0]]
    shared = [name for name in NAMES if all(name in pairs.column_names for pairs in tables.values())]
    labelled = questions is not None
    frames = {part: frame_of(part, _arrow(pairs).select(shared), labelled) for part, pairs in tables.items()}
    return _dataset(checked(frames, labelled))


def load_splits(source: Source, seed: int = 0) -> dict[str, Dataset]:
    """Every pair of a source as train, dev and test: those that it has, the others taken from train by `split_own`.

    source: a file, a folder of splits, a known set, or what `load_pairs` takes in memory.
    Raises what `load_pairs` raises, and ValueError where there is nothing to train on.
    """
    splits = {}
    for split in SPLITS:
        with suppress(sets.NoSplit):
            splits[split] = load_pairs(source, split, "all")
    if splits and "train" not in splits:
        raise ValueError(f"{source}: expected a split to train on, got {' and '.join(splits)}")
    train = splits["train"] if splits else load_pairs(source, questions="all")
    shares = {split: share for split, share in SHARES.items() if split not in splits}
    return splits | (split_own(train, seed, shares) if shares else {})


def split_own(pairs: Dataset, seed: int = 0, shares: Mapping[str, float] = SHARES) -> dict[str, Dataset]:
    """Pairs in train and the splits of `shares`, by the text of a question: no two splits have one in common.

    Questions with a correct and an incorrect candidate, `QUESTIONS_TO_SPLIT` or more, are shared out evenly; so are the
    others.
    """
    table = pairs.to_pandas()
    text = table["question"].map(plain)
    mixed = table.groupby(text, sort=False)["label"].nunique() == 2
    if mixed.sum() < QUESTIONS_TO_SPLIT:
        expected = f"at least {QUESTIONS_TO_SPLIT} questions with a correct and an incorrect candidate to split"
        way_out = "bring more, or a folder with train, dev and test files"
        raise ValueError(f"expected {expected}, got {mixed.sum()} of {len(mixed)}; {way_out}")
    split_of: dict[str, str] = {}
    for group in (mixed.index[mixed], mixed.index[~mixed]):
        order = random.Random(seed).sample(list(group), len(group))
        for split, share in shares.items():
            count = round(share * len(group))
            split_of |= dict.fromkeys(order[:count], split)
            order = order[count:]
    split_of_row = text.map(split_of).fillna("train")
    splits = {name: _rows(pairs, split_of_row == name) for name in ("train", *shares)}
    counts = ", ".join(f"{name} {len(part.unique('question_id')):,}" for name, part in splits.items())
    note(f"splits: made by question, at random with seed {seed}: {counts} questions")
    return splits


def draw_questions(pairs: Dataset, most: int) -> Dataset:
    """At most so many questions of labelled pairs, drawn at random, the answered ones first; rows in their order."""
    table = pairs.to_pandas()
    answered = table.groupby("question_id", sort=False)["label"].max()
    order = random.Random(0).sample(list(answered.index), len(answered))
    drawn = sorted(order, key=lambda name: not answered[name])[:most]
    return _rows(pairs, table["question_id"].isin(drawn))


def leave_out(pairs: Dataset, fold: int, folds: int) -> Dataset:
    """The pairs but those of one fold of the questions; question i, as they first come, is in fold i modulo `folds`."""
    return _rows(pairs, questions_of(_arrow(pairs)).code % folds != fold)


def filter_questions(pairs: Dataset, questions: str) -> Dataset:
    """The labelled pairs of the questions that a policy keeps: "answered", "mixed" or "all" (see `load_pairs`)."""
    if len(pairs) == 0:
        return pairs
    sizes, correct = _counts(pairs)
    return _rows(pairs, np.repeat(ranking.kept(sizes, correct, questions), sizes))


def fingerprint(pairs: Dataset | pa.Table) -> str:
    """The SHA-256 of a set of pairs: of our four columns, rows and their order, not of how Arrow stores them."""
    names = [name for name in COLUMNS if name in pairs.column_names]
    table = _arrow(pairs) if isinstance(pairs, Dataset) else pairs
    total = hashlib.sha256(repr((names, table.num_rows)).encode())
    for name in names:
        if name == "label":
            lengths, content = b"", table[name].to_numpy().astype(np.int64)
        else:
            texts = table[name].cast(pa.large_string())  # ids may be numbers
            lengths, content = pc.binary_length(texts).to_numpy(), "".join(texts.to_pylist()).encode()
        total.update(hashlib.sha256(lengths).digest() + hashlib.sha256(content).digest())
    return total.hexdigest()


# ---------------------------------------------------------------- what two sets share


def plain(text: str) -> str:
    """A text as it is compared: NFKC, case-folded, each run of blanks one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def folded(text: str) -> str:
    """`plain` without punctuation: what remains the same in another set's spelling of a text."""
    return " ".join(re.findall(r"\w+", plain(text)))


def leaks(a: Dataset, b: Dataset) -> list[str]:
    """The questions of `a` that are in `b` as well; texts are compared by `plain`."""
    questions = {plain(question) for question in b.unique("question")}
    return [question for question in a.unique("question") if plain(question) in questions]


def shared_answers(a: Dataset, b: Dataset) -> np.ndarray:
    """(q,) whether a question of `a` has a correct sentence of `b`, or all candidates of one: a paraphrase, perhaps."""
    candidates = _candidates(b)
    correct = frozenset().union(*(right for _, right in candidates))
    lists = {answers for answers, _ in candidates}
    return np.array([bool(right & correct) or answers in lists for answers, right in _candidates(a)], dtype=bool)


def _candidates(pairs: Dataset) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Of each question all candidates, and the correct ones, as `plain` has them."""
    answers, labels = np.array([plain(answer) for answer in pairs["answer"][:]], object), np.array(pairs["label"][:])
    rows = questions_of(_arrow(pairs)).slices()
    return [(frozenset(answers[i]), frozenset(answers[i][labels[i] == 1])) for i in rows]


def require_apart(
    splits: Mapping[str, Dataset], name: str = "pairs", way_out: str = "give each split questions of its own"
) -> None:
    """Raises ValueError where two splits share a question; a line says how many have an answer of train's."""
    for first, second in combinations(splits, 2):
        if shared := leaks(splits[first], splits[second]):
            got = f"{len(shared)} in both, such as {shared[0]!r:.60}"
            raise ValueError(f"{name}: expected other questions in {second} than in {first}, got {got}; {way_out}")
        if first != "train" or "label" not in splits[first].column_names:
            continue
        if answers := int(shared_answers(splits[second], splits[first]).sum()):
            same = "the same correct sentence, or all candidates"
            note(f"{name}: {answers} of the questions in {second} may be ones of train in other words: {same}")


# ---------------------------------------------------------------- the order of candidates


def label_blind_order(table: pa.Table) -> np.ndarray:
    """(n,) row numbers: questions as they come, their candidates by the SHA-256 of question_id and text, stable."""
    texts = zip(table["question_id"].to_pylist(), table["answer"].to_pylist(), strict=True)
    digests = (hashlib.sha256(f"{name}\0{answer}".encode()).digest()[:8] for name, answer in texts)
    keys = np.frombuffer(b"".join(digests), dtype=">u8")
    return np.lexsort((keys, questions_of(table).code))


def order_warning(name: str, pairs: Dataset) -> str:
    """What to say of pairs whose original order alone ranks implausibly well; empty for any other."""
    first = pairs.select(range(min(len(pairs), ROWS_READ)))
    order = -np.arange(len(first))
    precisions = ranking.per_question(first["question_id"][:], first["label"][:], order, "mixed", ["AP"])["AP"]
    if len(precisions) < QUESTIONS_TO_SPLIT or precisions.mean() <= IMPLAUSIBLE:
        return ""
    problem = "it gives the labels away; believe no ranker that reads it, and shuffle each question's rows"
    return f"{name}: the order of the candidates alone has MAP {100 * precisions.mean():.1f}: {problem}"


# ---------------------------------------------------------------- from a location


def _load(location: sets.Location, labelled: bool) -> Dataset:
    """The checked pairs of a location."""
    if location.kind == "files":
        contents = {path.name: content_of(path) for path in location.files}
    elif location.kind == "sample":
        table = parquet.read_table(SAMPLE_FILE)
        table = table.filter((pc.field("corpus") == location.name) & (pc.field("split") == location.split))
        contents = {location.name: table.select(COLUMNS[: 4 - location.name.endswith("unlabelled")])}
    else:
        where = {"split": location.hub_split, "revision": location.revision}
        contents = {location.name: _arrow(datasets.load_dataset(location.name, location.hub.config, **where))}
    frames = {name: frame_of(name, content, labelled) for name, content in contents.items()}
    if location.hub.ordered:
        return _dataset(checked(frames, labelled))
    table = checked(frames, labelled, location.split)  # a run of SelQA's equal questions is one
    return _dataset(table.take(label_blind_order(table)))


def _only(pairs: Dataset, only: Mapping[str, Any]) -> Dataset:
    """The pairs of the questions that meet a split's conditions (`sets.with_only`)."""
    if not only:
        return pairs
    sizes, correct = _counts(pairs)
    keep = sizes >= only.get("candidates", 0)
    if "answered" in only:
        keep &= correct > 0
    if "unanswered" in only:
        keep &= correct == 0
    if "first" in only or "last" in only:
        bound = len(sizes) * (only["first"] if "first" in only else 100 - only["last"]) // 100
        keep &= (np.arange(len(sizes)) < bound) == ("first" in only)
    if "apart" in only:
        keep &= ~shared_answers(pairs, load_parts(only["apart"], "answered"))
    return _rows(pairs, np.repeat(keep, sizes))


def _counts(pairs: Dataset) -> tuple[np.ndarray, np.ndarray | None]:
    """How many candidates each question has, and how many of them are correct: None without labels."""
    table = _arrow(pairs)
    questions = questions_of(table)
    if "label" not in table.column_names:
        return questions.sizes, None
    return questions.sizes, np.add.reduceat(table["label"].to_numpy(), questions.starts, dtype=np.int64)


def encoded(pairs: Dataset, encoder: Any) -> Dataset:
    """An encoder's items of pairs, in order, mapped from `work/encoded/`, where they are put the first time."""
    path = work_folder() / "encoded" / f"{encoded_fingerprint(pairs, encoder)}.arrow"
    if not path.exists():
        with whole_file(path) as temporary, pa.ipc.new_stream(str(temporary), encoder.schema) as writer:
            for part in parts_of_questions(pairs, ENCODED_TOGETHER):
                items = encoder.items(part["question"], part["answer"], part["question_id"])
                writer.write_table(pa.Table.from_pylist(items, encoder.schema))
    return Dataset.from_file(str(path))


def parts_of_questions(pairs: Dataset, rows: int) -> Iterator[dict[str, list[Any]]]:
    """question_id, question and answer of so many pairs at least, of which no part ends within a question."""
    table = _arrow(pairs.select_columns(["question_id", "question", "answer"]))
    for part in questions_of(table).parts(rows):
        yield table.slice(part[0], len(part)).to_pydict()


def encoded_fingerprint(pairs: Dataset, encoder: Any) -> str:
    """The SHA-256 of pairs, and of all that decides how they are encoded."""
    return hashlib.sha256(repr((ENCODING, fingerprint(pairs), encoder.settings())).encode()).hexdigest()


def _rows(pairs: Dataset, keep: Sequence[bool]) -> Dataset:
    return pairs if np.all(keep) else _dataset(_arrow(pairs).filter(pa.array(keep)))


def _dataset(table: pa.Table) -> Dataset:
    # Without a fingerprint of its own, Dataset would pickle the whole table to make one.
    return Dataset(table, fingerprint=fingerprint(table))


def _arrow(pairs: Dataset) -> pa.Table:
    return pairs.with_format("arrow")[:]
