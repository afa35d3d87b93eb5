"""Whether a vote of teachers beats their mean, and whether they err independently; knows arrays and no model.

GOVERN's proof (section 3.1.2) takes Condorcet's jury theorem, which needs voters that err independently: measured here.
Letters: m pairs · n teachers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from as2lib.metrics.ranking import Values


class Premise(NamedTuple):
    """What `premise` returns: shares of pairs in [0, 1], each the mean over the two labels; and a correlation."""

    teacher: float  # a teacher pulls the student to the label's side, mean over teachers
    correlation: float  # of two teachers' being right, mean over pairs of teachers; nan where it is not defined
    condorcet: float  # a majority of teachers as accurate as these would, did they err independently
    vote: float  # the majority of these does (their mean decides where the vote is drawn)
    mean: float  # their mean does
    vote_alone: float  # the vote is right and the mean is wrong
    mean_alone: float
    drawn: float  # no majority


def premise(label: Values, teachers: Sequence[Values], student: Values | float = 0.5) -> Premise:
    """How often teachers, their vote and their mean pull a student to the label's side.

    o_i = sign(f_i - f_s), right where it is sign(y - f_s);  vote: sign(sum_i o_i);  mean: sign(mean_i f_i - f_s)
    Each share is taken within a label first, since most pairs are wrong: a constant teacher gets 1/2.

    label: (m,) 0 or 1, both present.  teachers: n arrays (m,) of P(correct).  student: (m,), or 1/2: undecided.
    Raises ValueError where there is no teacher, lengths differ, or a label is missing.
    Source: GOVERN, section 3.1.2.  What the loss does with a vote: `as2lib.losses.govern`.
    """
    label, scores = np.asarray(label), np.array([np.asarray(one, dtype=np.float64) for one in teachers])
    if scores.ndim != 2 or scores.shape[1] != len(label):
        raise ValueError(f"expected one or more teachers with {len(label)} scores each, got shape {scores.shape}")
    if set(np.unique(label)) != {0, 1}:
        raise ValueError(f"label: expected both 0 and 1, got {sorted(set(label.tolist()))[:5]}")
    student = np.broadcast_to(np.asarray(student, dtype=np.float64), label.shape)
    wanted = np.sign(label - student)
    right = np.sign(scores - student) == wanted  # (n, m)
    verdict = np.sign(np.sign(scores - student).sum(axis=0))
    mean = np.sign(scores.mean(axis=0) - student) == wanted
    vote = np.where(verdict == 0, mean, verdict == wanted)
    by_label = [_of_label(right[:, own], vote[own], mean[own], verdict[own] == 0) for own in (label == 0, label == 1)]
    both = np.array(by_label)
    correlations = both[:, 1][~np.isnan(both[:, 1])]
    both[:, 1] = correlations.mean() if len(correlations) else np.nan
    return Premise(*map(float, both.mean(axis=0)))


def _of_label(right: np.ndarray, vote: np.ndarray, mean: np.ndarray, drawn: np.ndarray) -> list[float]:
    accuracy = right.mean()
    teachers = accuracy, _correlation(right), condorcet(len(right), accuracy)
    return [*teachers, *(share.mean() for share in (vote, mean, vote & ~mean, mean & ~vote, drawn))]


def condorcet(voters: int, accuracy: float) -> float:
    """P(the majority of independent voters of one accuracy is right); a draw counts one half."""
    half = voters / 2
    drawn = binom.pmf(half, voters, accuracy) if voters % 2 == 0 else 0.0
    return float(binom.sf(half, voters, accuracy) + drawn / 2)


def _correlation(right: np.ndarray) -> float:
    """The mean over pairs of teachers of the correlation between their being right (n, m); nan without such a pair."""
    varied = right[right.std(axis=1) > 0]
    if len(varied) < 2:
        return float("nan")
    return float(np.corrcoef(varied)[np.triu_indices(len(varied), 1)].mean())
