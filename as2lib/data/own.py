"""Pairs of one's own, under whatever column names: recognises them, splits them by question; knows no model."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import pandas

from as2lib.data import formats, sources
from as2lib.data.formats import COLUMNS, shorten
from as2lib.data.sources import SPLITS
from as2lib.paths import written_whole

# What others call our columns, letters and digits only; of two in one file the first here counts.
CALLED = {
    "question_id": "questionid qid queryid topicid questionno key id",
    "question": "question query questiontext querytext q prompt",
    "answer": "answer sentence candidate passage answertext sentencetext candidatetext text response document reply",
    "label": "label iscorrect correct isanswer isrelevant relevant relevance rel gold target y class",
}
CORRECT, INCORRECT = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}
SHARES = {"dev": 0.1, "test": 0.2}  # of the questions; the others are for training
LEAST = 20  # questions with a correct and an incorrect candidate: fewer say nothing of three splits


@dataclass(frozen=True)
class Split:
    """The pairs of one split: its `part`, as a study's file names it, and its rows in order, a frame of `COLUMNS`."""

    part: str
    rows: pandas.DataFrame

    @property
    def questions(self) -> int:
        return self.rows["question_id"].nunique()

    @property
    def answered(self) -> int:
        """Questions with a correct candidate."""
        return self.rows.loc[self.rows["label"] == 1, "question_id"].nunique()

    @property
    def learnt(self) -> int:
        """Pairs of these, which a fit learns from."""
        return int(self.rows.groupby("question_id")["label"].transform("max").sum())


@dataclass(frozen=True)
class Own:
    """Pairs of one's own in three splits, and in `said` what was recognised, assumed and made, a line each."""

    name: str
    splits: dict[str, Split]
    said: list[str] = field(default_factory=list)


def own_pairs(
    source: str, folder: Path, columns: dict[str, str] | None = None, most: dict[str, int] | None = None
) -> Own:
    """The pairs of a file, a folder of train, dev and test files, a known set or a hub set, as three splits.

    folder: where splits are written that are not there as `load_pairs` reads them.  columns: ours → theirs, where their
    names do not say it.  most: at most so many questions of a split, the first of a seeded order.
    Raises ValueError or FileNotFoundError in one line: for columns that are not recognised, for a row that is no pair,
    for fewer than `LEAST` questions with a correct and an incorrect candidate.
    """
    path, found, said = Path(source).expanduser(), {}, []
    for split in [None] if path.is_file() else SPLITS:
        try:
            found[split or "train"], read_as = (
                _of_path(path, split, columns) if path.exists() else _of_known(source, split)
            )
        except sources.NoSplit:
            continue
        said = read_as or said
    whole = list(found)
    if "train" not in whole:
        raise ValueError(
            f"{source}: expected pairs to train on, got {' and '.join(whole)} only; bring a train file too"
        )
    if whole != list(SPLITS):
        found, line = _divided(source, found)
        said.append(line)
    if cut := {split: n for split, n in (most or {}).items() if found[split].questions > n}:
        found |= {split: Split("", _some(found[split].rows, n)) for split, n in cut.items()}
        said.append("of its questions so many are drawn (seed 0): " + ", ".join(f"{s} {n}" for s, n in cut.items()))
    for split in SPLITS:
        if not found[split].answered:
            raise ValueError(f"{source}: {split}: expected questions with a correct candidate, got none")
        if not found[split].part:
            target = folder / f"{split}.tsv"
            with written_whole(target) as temporary:
                found[split].rows.to_csv(temporary, sep="\t", index=False, lineterminator="\n")
            found[split] = Split(str(target), found[split].rows)
    return Own(path.resolve().name if path.exists() else source, found, said)


def recognised(
    names: Sequence[str], rows: Sequence[dict[str, Any]], given: dict[str, str] | None = None
) -> dict[str, str]:
    """Our columns → theirs: as given, else by what theirs are called, else by what is in them.

    Raises ValueError that names the columns and what is missing.
    """
    found = dict(given or {})
    if unknown := [f"{ours}={theirs}" for ours, theirs in found.items() if ours not in COLUMNS or theirs not in names]:
        raise ValueError(f"columns: expected {', '.join(COLUMNS)} of {', '.join(names)}; got {', '.join(unknown)}")
    plain = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in reversed(names) if name not in found.values()}
    for ours, called in CALLED.items():
        theirs = next((plain[name] for name in called.split() if name in plain), None)
        if ours not in found and theirs:
            found[ours] = theirs
    _by_content(found, [name for name in names if name not in found.values()], rows)
    if missing := [ours for ours in COLUMNS[1:] if ours not in found]:
        example = ",".join(f"{ours}=THEIRS" for ours in missing)
        raise ValueError(
            f"no column is recognised as {', '.join(missing)} among {', '.join(names)}; say --columns {example}"
        )
    if "question_id" in found and "question_id" not in (given or {}) and _numbers_rows(found, rows):
        del found["question_id"]
    return {ours: found[ours] for ours in COLUMNS if ours in found}


def _by_content(found: dict[str, str], left: list[str], rows: Sequence[dict[str, Any]]) -> None:
    """Adds the label where one column alone is 0 and 1, and question and answer where two columns alone are texts."""
    values = {name: [str(row.get(name)) for row in rows] for name in left}
    binary = [name for name in left if {v.lower() for v in values[name]} <= CORRECT | INCORRECT]
    if "label" not in found and len(binary) == 1:
        found["label"] = binary[0]
    texts = [name for name in left if name not in binary and sum(" " in text for text in values[name]) > len(rows) / 2]
    texts.sort(key=lambda name: len(set(values[name])))  # a question stands before each of its candidates
    missing = [ours for ours in ("question", "answer") if ours not in found]
    if missing and len(missing) == len(texts):
        found |= dict(zip(missing, texts, strict=True))


def _numbers_rows(found: dict[str, str], rows: Sequence[dict[str, Any]]) -> bool:
    """Whether what is called an id is one of rows: each has its own, though questions repeat."""
    ids, texts = ({str(row.get(found[ours])) for row in rows} for ours in ("question_id", "question"))
    return len(ids) == len(rows) > len(texts)


def _of_path(path: Path, split: str | None, columns: dict[str, str] | None) -> tuple[Split, list[str]]:
    """A file, or a split of a folder: as it is where `load_pairs` reads it, else read under recognised columns."""
    from as2lib.data.pairs import load_pairs

    location = sources.resolve(path, split)
    if (not columns) if split else location.builder:  # of files only ASNQ's own, which have no header
        try:
            return Split(f"{path.resolve()}:{split}" if split else "", _frame(load_pairs(path, split, "all"))), []
        except ValueError:  # under other columns, or not contiguous: read here, which says what is wrong
            pass
    if split and (len(location.files) != 1 or location.builder):
        raise ValueError(
            f"{path}: {split}: expected 1 file under the columns {', '.join(COLUMNS)}, got {len(location.files)}"
        )
    rows, said = _read(location.files[0], columns)
    if split:
        rows["question_id"] = f"{split}-" + rows["question_id"]
    return Split("", rows), said


def _of_known(source: str, split: str) -> tuple[Split, list[str]]:
    """A split of a known set, or of a hub set as `org/name@revision`."""
    from as2lib.data.pairs import load_pairs

    if re.fullmatch(r"[\w.-]+/[\w.-]+", source) and source not in {hub.name for hub in sources.HUB_SETS.values()}:
        raise FileNotFoundError(
            f"{source}: no such file or folder; a set on the hub is written {source}@REVISION, as {source}@main"
        )
    return Split(f"{source}:{split}", _frame(load_pairs(source, split, "all"))), []


def _frame(pairs: Any) -> pandas.DataFrame:
    return pairs.to_pandas()[list(COLUMNS)]


def _read(path: Path, given: dict[str, str] | None) -> tuple[pandas.DataFrame, list[str]]:
    """The checked pairs of a file, the rows of a question together, and what was made of its columns."""
    where, read = zip(*formats.rows(path), strict=True)
    if odd := next((place for place, row in zip(where, read, strict=True) if not isinstance(row, dict)), None):
        raise ValueError(f"{odd}: expected an object with a question, an answer and a label")
    names = list(dict.fromkeys(name for row in read[:100] for name in row))
    theirs = recognised(names, read, given)
    texts = {
        ours: ["" if row.get(name) is None else str(row.get(name)).strip() for row in read]
        for ours, name in theirs.items()
    }
    labels = [label.lower() for label in texts["label"]]
    for row, place in enumerate(where):
        for ours in ("question", "answer"):
            if not texts[ours][row]:
                raise ValueError(f"{place}: {theirs[ours]} must not be empty; fill it in or leave the row out")
        if labels[row] not in CORRECT | INCORRECT:
            wanted = f"{theirs['label']} must be 0 or 1 (or false, true, no, yes)"
            raise ValueError(f"{place}: {wanted}, got {shorten(texts['label'][row])}")
    made = [f"q{number + 1}" for number in pandas.factorize(numpy.array(texts["question"], object))[0]]
    texts["question_id"] = [
        own or its for own, its in zip(texts.get("question_id", [""] * len(made)), made, strict=True)
    ]
    texts["label"] = [int(label in CORRECT) for label in labels]
    rows = pandas.DataFrame({name: pandas.Series(texts[name]) for name in COLUMNS})
    ordered = _together(rows, "question_id")
    read_as = ", ".join(f"{name} as {ours}" if name != ours else ours for ours, name in theirs.items())
    passed = [name for name in names if name not in theirs.values()]
    said = [f"columns: {read_as}" + (f"; not read: {', '.join(passed)}" if passed else "")]
    said += [] if "question_id" in theirs else ["question ids: made here, equal questions are one"]
    said += [] if ordered.index.equals(rows.index) else ["rows: those of a question brought together, in their order"]
    return ordered, said


def _divided(source: str, found: dict[str, Split]) -> tuple[dict[str, Split], str]:
    """The splits with those that are missing taken from train, by the text of a question, the answered ones evenly."""
    train = found["train"].rows
    train = _together(train.assign(text=[" ".join(text.lower().split()) for text in train["question"]]), "text")
    mixed = train.groupby("text", sort=False)["label"].nunique() == 2
    if mixed.sum() < LEAST:
        raise ValueError(
            f"{source}: expected at least {LEAST} questions with a correct and an incorrect candidate to split, got "
            f"{mixed.sum()} of {len(mixed)}; bring more, or a folder with train, dev and test files"
        )
    missing = [split for split in SHARES if split not in found]
    role: dict[str, str] = {}
    for some in (mixed.index[mixed], mixed.index[~mixed]):
        order = random.Random(0).sample(list(some), len(some))
        for split in missing:
            count = round(SHARES[split] * len(some))
            role |= dict.fromkeys(order[:count], split)
            order = order[count:]
    of = train.pop("text").map(role).fillna("train")
    splits = found | {split: Split("", train[of == split]) for split in ("train", *missing)}
    counts = ", ".join(f"{split} {splits[split].questions:,}" for split in SPLITS)
    return splits, f"splits: made here by question, at random with seed 0: {counts} questions"


def _some(rows: pandas.DataFrame, most: int) -> pandas.DataFrame:
    """The rows of so many questions: with a correct candidate as long as there are any, in a seeded order."""
    answered = rows.groupby("question_id", sort=False)["label"].max()
    order = random.Random(0).sample(list(answered.index), len(answered))
    chosen = sorted(order, key=lambda name: not answered[name])[:most]
    return _together(rows[rows["question_id"].isin(chosen)], "question_id")


def _together(rows: pandas.DataFrame, key: str) -> pandas.DataFrame:
    """The rows with those of equal keys side by side, in the order in which the keys first come."""
    return rows.iloc[numpy.argsort(pandas.factorize(rows[key])[0], kind="stable")]
