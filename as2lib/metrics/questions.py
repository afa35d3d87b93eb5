"""Which rows are a question's, and where they stand in it; knows ids alone.

n rows (question and candidate) · q questions, numbered from 0 in first-seen order
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Questions(NamedTuple):
    """The questions of n rows."""

    code: np.ndarray  # (n,) the number of each row's question
    starts: np.ndarray  # (q,) the first row of each question
    sizes: np.ndarray  # (q,) how many rows it has
    place: np.ndarray  # (n,) how many rows of its question stand before a row

    @classmethod
    def together(cls, question_id: Sequence[Any]) -> "Questions":
        """Of rows whose questions stand together: one begins wherever the id is another.

        question_id: (n,) ids of any kind, or numbers.
        """
        ids = np.asarray(question_id)
        return cls.beginning(np.append(True, ids[1:] != ids[:-1])[: len(ids)])

    @classmethod
    def beginning(cls, first: np.ndarray) -> "Questions":
        """Of rows that stand together, from (n,) bool: whether a question begins there."""
        starts = np.flatnonzero(first)
        sizes = np.diff(starts, append=len(first))
        return cls(np.cumsum(first) - 1, starts, sizes, np.arange(len(first)) - np.repeat(starts, sizes))

    @classmethod
    def anywhere(cls, code: np.ndarray) -> "Questions":
        """Of rows whose questions stand anywhere, by (n,) numbers of them, such as `ranking.encode_ids` gives."""
        order = np.argsort(code, kind="stable")
        sorted_rows = cls.together(code[order])
        place = np.empty(len(code), dtype=np.int64)
        place[order] = sorted_rows.place
        return cls(code, order[sorted_rows.starts], sorted_rows.sizes, place)
