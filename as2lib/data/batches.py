"""Which pairs share a batch; imports no torch, for a ranker may run without it."""

from collections.abc import Iterator

import numpy


def by_length(length: numpy.ndarray, batch_tokens: int) -> list[numpy.ndarray]:
    """Rows from the longest to the shortest, as many a batch as fit in `batch_tokens` with their padding."""
    order = numpy.argsort(-length, kind="stable")
    batches = []
    while len(order):
        size = max(1, batch_tokens // int(length[order[0]]))
        batches.append(order[:size])
        order = order[size:]
    return batches


def whole_questions(question: numpy.ndarray, pairs: int) -> Iterator[numpy.ndarray]:
    """Rows in parts of at least so many pairs, none of which ends within a question.

    question: (m,), the rows of a question together.
    """
    ends = numpy.append(numpy.flatnonzero(numpy.diff(question)) + 1, len(question))
    start = 0
    while start < len(question):
        end = ends[min(numpy.searchsorted(ends, start + pairs), len(ends) - 1)]
        yield numpy.arange(start, end)
        start = end
