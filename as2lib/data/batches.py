"""Which pairs share a batch; imports no torch, for a ranker may run without it."""

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
