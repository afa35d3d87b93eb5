"""The premise of GOVERN's proof: does a vote of teachers beat their mean, and do they err independently?

The proof (section 3.1.2) takes Condorcet's jury theorem, which needs voters that err independently: measured here.
Letters: m pairs · n teachers.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import binom

Values = Sequence[float] | np.ndarray | pd.Series


def premise(label: Values, teachers: Sequence[Values], student: Values | float = 0.5) -> pd.Series:
    """How often teachers, their vote and their mean pull a student to the label's side.

    o_i = sign(f_i - f_s), right where it is sign(y - f_s);  vote: sign(sum_i o_i);  mean: sign(mean_i f_i - f_s)
    Each share is taken within a label first, since most pairs are wrong: a constant teacher gets 1/2.

    label: (m,) 0 or 1, both present.  teachers: n arrays (m,) of P(correct).  student: (m,), or 1/2: undecided.
    Returns shares of pairs, each the mean over the two labels: `teacher` (one teacher is right, mean over teachers),
    `condorcet` (a majority of n as accurate would be, did they err independently), `vote` (the majority is right; where
    the vote is drawn, the mean decides), `mean`, `vote alone` (the mean is wrong), `mean alone`, `drawn`; and the
    `correlation` of two teachers' being right, mean over pairs of teachers, nan where it is not defined.
    Source: GOVERN, section 3.1.2.
    """
    label, scores = np.asarray(label), np.array([np.asarray(scores, dtype=np.float64) for scores in teachers])
    student = np.asarray(student, dtype=np.float64)
    side, pulls = np.sign(label - student), np.sign(scores - student)  # (m,), (n, m)
    verdict = np.sign(pulls.sum(axis=0))
    mean = np.sign(scores.mean(axis=0) - student) == side
    vote = np.where(verdict == 0, mean, verdict == side)
    pairs = {"vote": vote, "mean": mean, "vote alone": vote & ~mean, "mean alone": mean & ~vote, "drawn": verdict == 0}
    by_label = []
    for of_label in (label == 0, label == 1):
        right = (pulls == side)[:, of_label]
        varied = right[right.std(axis=1) > 0]
        correlations = np.corrcoef(varied)[np.triu_indices(len(varied), 1)] if len(varied) > 1 else np.array([np.nan])
        shares = {"teacher": right.mean(), "correlation": correlations.mean()}
        shares["condorcet"] = condorcet(len(right), shares["teacher"])
        by_label.append(shares | {name: values[of_label].mean() for name, values in pairs.items()})
    return pd.DataFrame(by_label).mean()  # a correlation that only one label has is that label's


def condorcet(voters: int, accuracy: float) -> float:
    """P(the majority of independent voters of one accuracy is right); a draw counts one half."""
    half = voters / 2
    drawn = binom.pmf(half, voters, accuracy) if voters % 2 == 0 else 0.0
    return float(binom.sf(half, voters, accuracy) + drawn / 2)
