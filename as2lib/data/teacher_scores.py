"""What a teacher said of pairs, read from a table: an LLM's or any reranker's scores, of which no model is at hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
from datasets import Dataset

from as2lib.data.tables import content_of
from as2lib.metrics.probability import log_odds
from as2lib.paths import expanded

NEAREST = 1e-6  # of a probability to 0 and to 1
KEYS = (["question_id", "candidate_id"], ["question", "answer"])


@dataclass(frozen=True)
class TeacherScores:
    """A teacher's log odds by what names a pair, in the columns `keys`."""

    path: Path
    keys: list[str]
    log_odds: pandas.Series

    @classmethod
    def read(cls, name: str | Path) -> "TeacherScores":
        """Read a CSV, TSV, JSONL or Parquet file, whose column `log_odds` or `probability` (of correct) is the score.

        A pair is named by question_id and candidate_id, or by question and answer.  ValueError for another table.
        """
        content = content_of(expanded(name))
        table = content if isinstance(content, pandas.DataFrame) else content.to_pandas()
        column = next((column for column in ("log_odds", "probability") if column in table), None)
        keys = next((keys for keys in KEYS if {*keys} <= {*table.columns}), None)
        if column is None or keys is None or table.columns.has_duplicates:
            expected = "log_odds or probability, by question_id and candidate_id or by question and answer, each once"
            raise ValueError(f"{name}: expected columns {expected}; got {', '.join(map(str, table))}")
        scores = pandas.to_numeric(table[column], errors="coerce").to_numpy(dtype=float)
        wrong = ~np.isfinite(scores)
        if column == "probability":
            wrong |= (scores < 0) | (scores > 1)
            scores = log_odds(scores.clip(NEAREST, 1 - NEAREST))
        if wrong.any():
            row = wrong.argmax()
            raise ValueError(f"{name}, row {row + 1}: {column}: expected one, got {table[column].iloc[row]!r:.60}")
        by_pair = pandas.Series(scores, _names(table, keys)).groupby(level=[0, 1], sort=False)
        if others := int((by_pair.max() > by_pair.min()).sum()):
            raise ValueError(f"{name}: expected one score a pair by {' and '.join(keys)}, got others for {others}")
        return cls(expanded(name), keys, by_pair.first())

    def of(self, pairs: Dataset) -> np.ndarray:
        """(m,) the log odds of some pairs.  Raises ValueError for one that is not in the file."""
        names = _names(pairs.to_pandas(), self.keys)
        if len(missing := names[~names.isin(self.log_odds.index)]):
            such = f"{len(missing)} of {len(names):,} are missing, such as {' '.join(missing[0])!r:.60}"
            raise ValueError(f"{self.path}: expected a row for each pair by {' and '.join(self.keys)}: {such}")
        return self.log_odds[names].to_numpy()

    def has(self, pairs: Dataset) -> bool:
        return bool(_names(pairs.to_pandas(), self.keys).isin(self.log_odds.index).all())


def _names(table: pandas.DataFrame, keys: list[str]) -> pandas.MultiIndex:
    return pandas.MultiIndex.from_frame(table.reindex(columns=keys).fillna("").astype(str))
