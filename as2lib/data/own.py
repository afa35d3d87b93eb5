"""Pairs of one's own, under whatever column names: recognises them, splits them by question; knows no model."""

import csv
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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


class Row(NamedTuple):
    question_id: str
    question: str
    answer: str
    label: int


@dataclass(frozen=True)
class Split:
    """The pairs of one split: its `part`, as a study's file names it, and its rows in order."""

    part: str
    rows: list[Row]

    @property
    def questions(self) -> int:
        return len({row.question_id for row in self.rows})

    @property
    def answered(self) -> int:
        """Questions with a correct candidate."""
        return len({row.question_id for row in self.rows if row.label})


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
    path = Path(source).expanduser()
    if path.is_dir():
        found, said = _of_folder(path, columns)
    elif path.exists():
        found, said = _of_file(path, columns)
    else:
        found, said = _of_known(source), []
    whole = [split for split in SPLITS if split in found]
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
            _write(target, found[split].rows)
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


def _of_file(path: Path, columns: dict[str, str] | None) -> tuple[dict[str, Split], list[str]]:
    if sources.resolve(path).builder and (pairs := _as_it_is(path, None)):  # ASNQ's own, without a header
        return {"train": Split("", pairs.rows)}, []
    rows, said = _read(path, columns)
    return {"train": Split("", rows)}, said


def _of_folder(path: Path, columns: dict[str, str] | None) -> tuple[dict[str, Split], list[str]]:
    """Its splits: as they are where `load_pairs` reads them, else read here under recognised columns."""
    found, said, last = {}, [], None
    for split in SPLITS:
        try:
            location = sources.resolve(path, split)
        except sources.NoSplit:
            continue
        if not columns and (pairs := _as_it_is(path, split)):
            found[split] = pairs
        elif len(location.files) != 1 or location.builder:
            raise ValueError(
                f"{path}: {split}: expected 1 file under the columns {', '.join(COLUMNS)}, got {len(location.files)}"
            )
        else:
            rows, last = _read(location.files[0], columns)
            found[split] = Split("", [row._replace(question_id=f"{split}-{row.question_id}") for row in rows])
    return found, said + (last or [])


def _as_it_is(path: Path, split: str | None) -> Split | None:
    from as2lib.data.pairs import load_pairs

    try:
        pairs = load_pairs(path, split, "all")
    except ValueError:  # under other columns, or not contiguous: read here, which says what is wrong
        return None
    return Split(f"{path.resolve()}:{split}", _rows_of(pairs))


def _of_known(source: str) -> dict[str, Split]:
    """A known set, or a hub set as `org/name@revision`, with the splits that it has."""
    from as2lib.data.pairs import load_pairs

    if re.fullmatch(r"[\w.-]+/[\w.-]+", source) and source not in {hub.name for hub in sources.HUB_SETS.values()}:
        raise FileNotFoundError(
            f"{source}: no such file or folder; a set on the hub is written {source}@REVISION, as {source}@main"
        )
    found = {}
    for split in SPLITS:
        try:
            found[split] = Split(f"{source}:{split}", _rows_of(load_pairs(source, split, "all")))
        except sources.NoSplit:
            continue
    return found


def _rows_of(pairs: Any) -> list[Row]:
    columns = pairs.with_format("arrow")[:].select(list(COLUMNS)).to_pydict()
    return [Row(*values) for values in zip(*columns.values(), strict=True)]


def _read(path: Path, given: dict[str, str] | None) -> tuple[list[Row], list[str]]:
    """The checked pairs of a file, the rows of a question together, and what was made of its columns."""
    where, read = zip(*formats.rows(path), strict=True)
    if odd := next((place for place, row in zip(where, read, strict=True) if not isinstance(row, dict)), None):
        raise ValueError(f"{odd}: expected an object with a question, an answer and a label")
    names = list(dict.fromkeys(name for row in read[:100] for name in row))
    theirs = recognised(names, read, given)
    numbers: dict[str, int] = {}  # question → its number, where ids are made
    rows = []
    for place, row in zip(where, read, strict=True):
        values = {ours: "" if row.get(name) is None else str(row.get(name)).strip() for ours, name in theirs.items()}
        for ours in ("question", "answer"):
            if not values[ours]:
                raise ValueError(f"{place}: {theirs[ours]} must not be empty; fill it in or leave the row out")
        if (label := values["label"].lower()) not in CORRECT | INCORRECT:
            raise ValueError(
                f"{place}: {theirs['label']} must be 0 or 1 (or false, true, no, yes), got {shorten(values['label'])}"
            )
        made = f"q{numbers.setdefault(values['question'], len(numbers) + 1)}"
        rows.append(Row(values.get("question_id") or made, values["question"], values["answer"], int(label in CORRECT)))
    together: dict[str, list[Row]] = {}
    for row in rows:
        together.setdefault(row.question_id, []).append(row)
    ordered = [row for group in together.values() for row in group]
    read_as = ", ".join(f"{name} as {ours}" if name != ours else ours for ours, name in theirs.items())
    passed = [name for name in names if name not in theirs.values()]
    said = [f"columns: {read_as}" + (f"; not read: {', '.join(passed)}" if passed else "")]
    said += [] if "question_id" in theirs else ["question ids: made here, equal questions are one"]
    said += [] if ordered == rows else ["rows: those of a question brought together, in their order"]
    return ordered, said


def _divided(source: str, found: dict[str, Split]) -> tuple[dict[str, Split], str]:
    """The splits with those that are missing taken from train, by the text of a question, the answered ones evenly."""
    groups: dict[str, list[Row]] = {}
    for row in found["train"].rows:
        groups.setdefault(_plain(row.question), []).append(row)
    mixed = [text for text, rows in groups.items() if len({row.label for row in rows}) == 2]
    if len(mixed) < LEAST:
        raise ValueError(
            f"{source}: expected at least {LEAST} questions with a correct and an incorrect candidate to split, got "
            f"{len(mixed)} of {len(groups)}; bring more, or a folder with train, dev and test files"
        )
    missing = [split for split in SHARES if split not in found]
    role: dict[str, str] = {}
    for some in (mixed, [text for text in groups if text not in set(mixed)]):
        order = random.Random(0).sample(some, len(some))
        for split in missing:
            count = round(SHARES[split] * len(some))
            role |= dict.fromkeys(order[:count], split)
            order = order[count:]
    made = {split: [] for split in ("train", *missing)}
    for text, rows in groups.items():
        made[role.get(text, "train")] += rows
    splits = found | {split: Split("", rows) for split, rows in made.items()}
    counts = ", ".join(f"{split} {splits[split].questions:,}" for split in SPLITS)
    return splits, f"splits: made here by question, at random with seed 0: {counts} questions"


def _some(rows: list[Row], most: int) -> list[Row]:
    """The rows of so many questions: with a correct candidate as long as there are any, in a seeded order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.question_id, []).append(row)
    order = random.Random(0).sample(list(groups), len(groups))
    chosen = set(sorted(order, key=lambda name: not any(row.label for row in groups[name]))[:most])
    return [row for name, group in groups.items() if name in chosen for row in group]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _write(path: Path, rows: Iterable[Row]) -> None:
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
