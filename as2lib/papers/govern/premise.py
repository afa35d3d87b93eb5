"""The premise of GOVERN's proof: does a vote of teachers beat their mean, and do they err independently?

The proof (section 3.1.2) takes Condorcet's jury theorem, which needs voters that err independently: measured here.
Letters: m pairs · n teachers.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import binom

from as2lib.metrics.ranking import Values
from as2lib.papers.govern.systems import systems
from as2lib.runs.wording import number, signed, some

if TYPE_CHECKING:
    from as2lib.study import Study

WEAK = 0.3  # a rank correlation below says no direction: groups overlap, and of 13 teachers one has an error of 0.29


def premise(label: Values, teachers: Sequence[Values], student: Values | float = 0.5) -> pd.Series:
    """How often teachers, their vote and their mean pull a student to the label's side.

    o_i = sign(f_i - f_s), right where it is sign(y - f_s);  vote: sign(sum_i o_i);  mean: sign(mean_i f_i - f_s)
    Each share is taken within a label first, since most pairs are wrong: a constant teacher gets 1/2.

    label: (m,) 0 or 1, both present.  teachers: n arrays (m,) of P(correct).  student: (m,), or 1/2: undecided.
    Returns shares of pairs, each the mean over the two labels: `teacher` (one teacher is right, mean over teachers),
    `condorcet` (a majority of n as accurate would be, did they err independently), `vote` (the majority is right; where
    the vote is drawn, the mean decides), `mean`, `vote alone` (the mean is wrong), `mean alone`, `drawn`; and the
    `correlation` of two teachers' being right, mean over pairs of teachers, nan where it is not defined.
    Source: GOVERN, section 3.1.2.  What the loss does with a vote: `as2lib.losses.govern`.
    """
    label, scores = np.asarray(label), np.array([np.asarray(one, dtype=np.float64) for one in teachers])
    student = np.asarray(student, dtype=np.float64)
    wanted, pulls = np.sign(label - student), np.sign(scores - student)  # (m,), (n, m)
    verdict = np.sign(pulls.sum(axis=0))
    mean = np.sign(scores.mean(axis=0) - student) == wanted
    vote = np.where(verdict == 0, mean, verdict == wanted)
    by_label = []
    for own in (label == 0, label == 1):
        right = (pulls == wanted)[:, own]
        teacher = right.mean()
        independent = {"correlation": _correlation(right), "condorcet": condorcet(len(right), teacher)}
        shares = {"vote": vote, "mean": mean, "vote alone": vote & ~mean, "mean alone": mean & ~vote}
        shares = pd.DataFrame(shares | {"drawn": verdict == 0})[own].mean()
        by_label.append({"teacher": teacher, **independent, **shares})
    return pd.DataFrame(by_label).mean()  # a correlation that only one label has is that label's


def condorcet(voters: int, accuracy: float) -> float:
    """P(the majority of independent voters of one accuracy is right); a draw counts one half."""
    half = voters / 2
    drawn = binom.pmf(half, voters, accuracy) if voters % 2 == 0 else 0.0
    return float(binom.sf(half, voters, accuracy) + drawn / 2)


def _correlation(right: np.ndarray) -> float:
    """The mean over pairs of teachers of the correlation between their being right (n, m); nan without such a pair."""
    varied = right[right.std(axis=1) > 0]
    return np.corrcoef(varied)[np.triu_indices(len(varied), 1)].mean() if len(varied) > 1 else np.nan


def premises(study: "Study", kinds: Sequence[str], student: Values | float = 0.5) -> pd.DataFrame:
    """`premise` of every three teachers of these kinds, in percent, seen from a student's scores, or an undecided one.

    A run that is there under two names counts once.  One row a group; `lead`: that of the vote over the mean, in
    points; the correlation stays within [-1, 1].
    """
    jury = {}
    for system in (one for one in systems(study).values() if one.kind in kinds):
        run = study.runs(system.prefix)[0]
        jury.setdefault(run.identity, (system.short, run.scores()))
    found = {}
    for group in combinations(jury.values(), min(3, len(jury))):
        called, scores = zip(*group, strict=True)
        found[" + ".join(called)] = premise(scores[0]["label"], [one["score"] for one in scores], student)
    found = 100 * pd.DataFrame(found).T.rename_axis("teachers")
    return found.assign(correlation=found["correlation"] / 100, lead=found["vote"] - found["mean"])


def votes(study: "Study") -> pd.DataFrame:
    """`premises` of the teachers of growing size, seen from an undecided student and from the student of the mean."""
    seen = {"an undecided student": 0.5, "the student of the mean": study.runs("govern/mean")[0].scores()["score"]}
    found = pd.concat({of: premises(study, ["teacher"], one) for of, one in seen.items()}, names=["seen from"])
    return found.reset_index("seen from").drop(columns=["drawn", "lead"])


def sentences_premise(groups: pd.DataFrame) -> list[str]:
    """Where the vote leads the mean, and what its lead goes along with.  groups: one row a group of teachers."""
    mean, ahead = groups.mean(), (groups["lead"] > 0).sum()
    alike, accurate = groups.rank().corr().loc["lead", ["correlation", "teacher"]]
    found = [
        f"Whether one teacher is right correlates at {number(mean['correlation'], 2)} with whether another is "
        f"(independent teachers: 0). Right on the pairs: the vote of three {number(mean['vote'])} %, their mean "
        f"{number(mean['mean'])} %, a single one of them {number(mean['teacher'])} %, that of three independent ones "
        f"as accurate {number(mean['condorcet'])} %.",
        f"The vote is right where the mean is wrong on {number(mean['vote alone'], 2)} % of the pairs, the mean where "
        f"the vote is wrong on {number(mean['mean alone'], 2)} %; the vote is ahead in "
        f"{some(ahead, len(groups), 'groups of three')}.",
        f"The vote's lead over the mean {_moves(alike)} as teachers become more alike (rank correlation "
        f"{signed(alike, 2)}), and {_moves(accurate)} as they become more accurate ({signed(accurate, 2)}).",
    ]
    return found if len(groups) > 9 else found[:2]  # fewer groups share too many teachers for a correlation


def _moves(correlation: float) -> str:
    if pd.isna(correlation):
        return "is not known to move"
    return "hardly changes" if abs(correlation) < WEAK else "grows" if correlation > 0 else "shrinks"
