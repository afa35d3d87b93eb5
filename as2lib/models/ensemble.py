"""Several scorers made one: functions of their scores; knows no model."""

from collections.abc import Sequence

import numpy


def mean(scores: Sequence[Sequence[float]]) -> numpy.ndarray:
    """The members' mean score.  scores: one (m,) array a member, over the same pairs in the same order.

    Raises ValueError where there is no member or their lengths differ.
    """
    lengths = {len(member) for member in scores}
    if len(lengths) != 1:
        raise ValueError(f"scores: expected one or more members of one length, got {sorted(lengths) or 'none'}")
    return numpy.mean([numpy.asarray(member, dtype=numpy.float64) for member in scores], axis=0)
