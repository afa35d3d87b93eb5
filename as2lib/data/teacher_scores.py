"""What a teacher said of pairs, read from a table: an LLM's or any reranker's scores, of which no model is at hand."""

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from as2lib.data import sets
from as2lib.data.columns import NAMES, called, listed
from as2lib.data.sets import note, shorten
from as2lib.paths import expanded

if TYPE_CHECKING:
    import pandas
    from datasets import Dataset

LOG_ODDS = "logodds logit logits"
SCORES = "teacherscore score probability prob"
NEAREST = 1e-6  # of a probability to 0 and to 1, whose log odds are finite
KEYS = (
    ("question_id", "candidate_id"),
    ("question", "answer"),
    ("question_id", "position"),
    ("question", "position"),
    ("question_id", "answer"),
)


@dataclass(frozen=True)
class TeacherScores:
    """A teacher's log odds by what names a pair.  keys: the columns that do."""

    path: Path
    keys: tuple[str, ...]
    log_odds: dict[tuple[Hashable, ...], float]

    @classmethod
    def read(cls, name: str | Path, source: str = "") -> "TeacherScores":
        """Read a CSV, TSV, JSONL or Parquet file, such as `as2 score --out` writes, or pairs with a `teacher_score`.

        A pair is named by question_id and candidate_id; else by the texts of question and answer; else by question_id
        and position among its candidates, or answer; else by question_id and the order of its rows; where there is none
        of these, a row is that of `source`, a file of pairs or a folder's train files.
        A column `log_odds` is read as that; a `score` is one too where a value is outside 0 … 1, else P(correct).
        """
        path = expanded(name)
        table = read_table(path)
        words = {column: NAMES[column] for column in ("question_id", "candidate_id", "question", "answer")}
        names = {column: called(table, word) for column, word in {**words, "position": "position"}.items()}
        table = table.rename(columns={spellings[0]: column for column, spellings in names.items() if spellings})
        scores = [*called(table, LOG_ODDS), *called(table, SCORES)]
        if not scores:
            raise ValueError(f"{name}: expected a column log_odds, score or teacher_score, got {listed(table)}")
        if source and not {"question_id", "question"} & {*table.columns}:
            table = beside(table, source, name)
        keys = [columns for columns in KEYS if {*columns} <= {*table.columns}]
        if not keys and "question_id" in table:
            table["position"] = table.groupby("question_id", sort=False).cumcount()
            keys = [("question_id", "position")]
        if not keys:
            raise ValueError(f"{name}: expected question_id and candidate_id, or the texts, got {listed(table)}")
        values = numbers_of(table[scores[0]].tolist(), name, scores[0])
        if not called(scores[:1], LOG_ODDS) and values.min() >= 0 and values.max() <= 1:
            note(f"{name}: {scores[0]} is read as P(correct)")
            values = np.clip(values, NEAREST, 1 - NEAREST)
            values = np.log(values) - np.log1p(-values)
        else:
            note(f"{name}: {scores[0]} is read as log odds")
        rows = pair_names(table, keys[0])
        log_odds = dict(zip(rows, values.tolist(), strict=True))
        if others := sum(log_odds[row] != value for row, value in zip(rows, values.tolist(), strict=True)):
            raise ValueError(
                f"{name}: expected one score a pair by {' and '.join(keys[0])}, got others in {others} rows"
            )
        return cls(path, keys[0], log_odds)

    def of(self, pairs: "Dataset") -> np.ndarray:
        """(m,) the log odds of some pairs.  Raises ValueError for one that is not in the file."""
        rows = self._rows(pairs)
        if missing := [row for row in rows if row not in self.log_odds]:
            such = f"{len(missing)} of {len(rows):,} are missing, such as {shorten(' '.join(map(str, missing[0])))}"
            raise ValueError(
                f"{self.path}: expected a row for each pair by {' and '.join(self.keys)}, got none: {such}"
            )
        return np.array([self.log_odds[row] for row in rows])

    def has(self, pairs: "Dataset") -> bool:
        return all(row in self.log_odds for row in self._rows(pairs))

    def _rows(self, pairs: "Dataset") -> list[tuple[Hashable, ...]]:
        table = pairs.to_pandas()
        table["position"] = table.groupby("question_id", sort=False).cumcount()
        if lacking := [column for column in self.keys if column not in table]:
            raise ValueError(f"{self.path}: names pairs by {' and '.join(self.keys)}; the pairs have no {lacking[0]}")
        return pair_names(table, self.keys)


def beside(table: "pandas.DataFrame", source: str, name: str | Path) -> "pandas.DataFrame":
    """A table without names of pairs beside the questions of `source`, row by row, and a row's place in its question.

    Raises ValueError where there is not a row each.
    """
    import pandas

    from as2lib.data import tables
    from as2lib.data.pairs import load_pairs

    path = sets.on_disk(source)
    location = sets.resolve(source, None if path and path.is_file() else "train")
    parts = [tables.read(file, labelled=False).pairs.to_pandas() for file in location.files if location.kind == "files"]
    pairs = pandas.concat(parts, ignore_index=True) if parts else load_pairs(source, "train", "all").to_pandas()
    if len(pairs) != len(table):
        expected = f"expected question_id and candidate_id, or the texts, or {len(pairs):,} rows as {source} has"
        raise ValueError(f"{name}: {expected}; got {len(table):,} of {listed(table)}")
    question = "question_id" if "question_id" in pairs else "question"
    place = pairs.groupby(question, sort=False).cumcount()
    if "answer" in table:
        answers = (pair_names(rows.fillna({"answer": ""}), ("answer",)) for rows in (table, pairs))
        if rows := [row for row, pair in enumerate(zip(*answers, strict=True), 1) if len({*pair}) > 1]:
            raise ValueError(f"{name}, row {rows[0]}: expected the answer of that row of {source}, got another one")
    return table.assign(**{question: pairs[question], "position": place})


def read_table(path: Path) -> "pandas.DataFrame":
    """A file of scores, as its ending says.  Raises ValueError for another ending, and where it can't be read."""
    import pandas

    from as2lib.data.tables import content_of

    if path.suffix[1:].lower() not in sets.SUFFIXES:
        raise ValueError(
            f"{path}: expected a file that ends in {', '.join(sets.SUFFIXES)}, got {path.suffix or 'none'}"
        )
    content = content_of(path)
    return pandas.DataFrame(content) if isinstance(content, list) else content.to_pandas()


def numbers_of(values: list[object], name: str | Path, column: str) -> np.ndarray:
    """Values as floats.  Raises ValueError with the row of the first that is no finite number."""
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        with suppress(TypeError, ValueError):
            numbers[row] = float(value)
        if not np.isfinite(numbers[row]):
            raise ValueError(f"{name}, row {row + 1}: {column}: expected a number, got {shorten(value)}")
    if not values:
        raise ValueError(f"{name}: expected rows, got none")
    return numbers


def pair_names(table: "pandas.DataFrame", keys: tuple[str, ...]) -> list[tuple[Hashable, ...]]:
    return list(zip(*(table[key].astype(str).str.strip() for key in keys), strict=True))
