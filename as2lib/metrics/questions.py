"""Which rows are a question's, and where they stand in it, where those of a question are together; knows ids alone.

n rows (question and candidate) · q questions, numbered from 0 in first-seen order
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


class Questions(NamedTuple):
    """The questions of n rows.  Of rows that stand anywhere `pandas.factorize` has the numbers."""

    code: np.ndarray  # (n,) the number of each row's question
    starts: np.ndarray  # (q,) the first row of each question
    sizes: np.ndarray  # (q,) how many rows it has
    place: np.ndarray  # (n,) how many rows of its question stand before a row

    @classmethod
    def together(cls, question_id: Sequence[Any] | np.ndarray) -> "Questions":
        """Of rows whose questions stand together: one begins wherever the id, (n,) of any kind, is another.

        Raises ValueError where the rows of a question lie apart.
        """
        ids = np.asarray(question_id)
        questions = cls.beginning(np.append(True, ids[1:] != ids[:-1])[: len(ids)])
        rises = ids.dtype.kind == "i" and not (ids[1:] < ids[:-1]).any()  # such ids are soon seen to be right
        if not rises and len(questions.starts) > len(set(ids.tolist())):
            expected = "expected the rows of a question together, as load_pairs brings them"
            raise ValueError(f"{expected}, got some that lie apart")
        return questions

    @classmethod
    def beginning(cls, first: np.ndarray) -> "Questions":
        """Of rows that stand together, from (n,) bool: whether a question begins there."""
        starts = np.flatnonzero(first)
        sizes = np.diff(starts, append=len(first))
        return cls(np.cumsum(first) - 1, starts, sizes, np.arange(len(first)) - np.repeat(starts, sizes))

    def slices(self) -> list[slice]:
        """The rows of each question, where these stand together."""
        return [slice(start, start + size) for start, size in zip(self.starts, self.sizes, strict=True)]

    def parts(self, rows: int) -> Iterator[np.ndarray]:
        """The rows, which stand together, in parts of at least so many, none of which ends within a question."""
        ends, start = np.cumsum(self.sizes), 0
        while start < len(self.code):
            end = ends[min(int(np.searchsorted(ends, start + rows)), len(ends) - 1)]
            yield np.arange(start, end)
            start = end
