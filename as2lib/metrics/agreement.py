"""Whether a student's heads choose as their teachers do, and as their majority; knows arrays and no model."""

import warnings
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from as2lib.metrics import ranking
from as2lib.metrics.ranking import Values

# n rows (question and candidate) · q questions · k heads (or whole students) · t teachers


class Agreement(NamedTuple):
    """Each (k, t): head i against teacher j; nan where it is not defined."""

    shared: np.ndarray  # correct top candidates that both choose, over the head's correct ones
    kappa: np.ndarray  # Cohen's kappa of which candidate each chooses, by its place among the question's candidates
    kappa_correct: np.ndarray  # Cohen's kappa of whether the choice is correct
    correlation: np.ndarray  # Spearman's correlation of the scores within a question, mean over questions


def agreement(head_scores: Values, teacher_scores: Values, label: Values, question_id: Values) -> Agreement:
    """How often each head chooses the candidate that a teacher chooses, as published and in two fairer ways.

    `shared` is CERBERUS Figure 3: a strong teacher gets large values with every head.  The kappas are corrected for
    what two rankers of the same habits agree on by chance: the places that each chooses, or how often each is correct.
    `correlation` compares whole lists; questions where one of the two scores all candidates alike are left out.

    head_scores: (n, k), teacher_scores: (n, t) numbers, not nan.  label: (n,) 0 or 1.  question_id: (n,) any ids.
    Questions without a correct candidate are left out.  Top candidates under ties are those of `ranking.top`.
    Raises ValueError as `ranking.per_question`.
    Source: CERBERUS section 5.3 and Figure 3; Cohen 1960.
    """
    heads, teachers, label, question_id = _answered(head_scores, teacher_scores, label, question_id)
    place = pd.Series(question_id).groupby(question_id).cumcount().to_numpy()
    by_head, by_teacher = (_choices(scores, label, question_id) for scores in (heads, teachers))
    measures = np.full((4, len(by_head), len(by_teacher)), np.nan)
    for (i, head), (j, teacher) in product(enumerate(by_head), enumerate(by_teacher)):
        correct = label[head] == 1
        if correct.any():
            measures[0, i, j] = (correct & (head == teacher)).sum() / correct.sum()
        kappas = _kappa(place[head], place[teacher]), _kappa(correct, label[teacher] == 1)
        measures[1:, i, j] = *kappas, rank_correlation(heads[:, i], teachers[:, j], question_id).mean()
    return Agreement(*measures)


def rank_correlation(a: Values, b: Values, question_id: Values) -> pd.Series:
    """Spearman's correlation of two scores within each question, ties at their mean rank.

    a, b: (n,) numbers, not nan.  Returns (q,), index `question_id`, first seen first; nan where a or b is constant.
    """
    names, code = ranking.encode_ids(np.asarray(question_id))
    ranks = pd.DataFrame({"a": np.asarray(a), "b": np.asarray(b)}).groupby(code).rank()
    ranks -= ranks.groupby(code).transform("mean")
    ab, aa, bb = ((ranks[x] * ranks[y]).groupby(code).sum() for x, y in ("ab", "aa", "bb"))
    spread = np.sqrt(aa * bb)
    return pd.Series((ab / spread.where(spread > 0)).to_numpy(), index=names, name="correlation")


def majority(student_scores: Values, teacher_scores: Values, label: Values, question_id: Values) -> pd.DataFrame:
    """How the student's choices stand to the teachers': every question falls in exactly one case.

    "all right": the student and every teacher are correct; "follows": the student and more than half of them, not all;
    "overrides": the student, and half of them or fewer; "rest": the student is not.

    student_scores: (n,), teacher_scores: (n, t).  The rest as in `agreement`.
    Returns a row a question: `teachers` (correct ones), `student`, `confidence 0` to `t-1` (each teacher's score of its
    own top candidate) and `case`.
    Source: CERBERUS section 5.3, which gives three counts and no definition; this reading is ours.
    """
    students, teachers, label, question_id = _answered(student_scores, teacher_scores, label, question_id)
    questions, _ = ranking.encode_ids(question_id)
    by_teacher = np.array(_choices(teachers, label, question_id))  # (t, q)
    t, correct = len(by_teacher), (label[by_teacher] == 1).sum(axis=0)
    student = label[_choices(students, label, question_id)[0]] == 1
    table = pd.DataFrame({"teachers": correct, "student": student}, index=questions)
    for j, choices in enumerate(by_teacher):
        table[f"confidence {j}"] = teachers[choices, j]
    cases = [~student, correct == t, 2 * correct > t]
    return table.assign(case=np.select(cases, ["rest", "all right", "follows"], "overrides"))


def _answered(*columns: Values) -> tuple[np.ndarray, ...]:
    """Scores as (n, …) float64, labels and ids, of the questions that have a correct candidate."""
    first, second, label, question_id = map(np.asarray, columns)
    first, second = (np.atleast_2d(scores.T).T.astype(np.float64) for scores in (first, second))
    for scores in (*first.T, *second.T):  # each is checked
        rows = ranking.read(question_id, label, scores)
    keep = (rows.hits > 0)[rows.question]
    return first[keep], second[keep], label[keep], question_id[keep]


def _choices(scores: np.ndarray, label: np.ndarray, question_id: np.ndarray) -> list[np.ndarray]:
    """The row of each question's top candidate, (q,), for every column of scores."""
    return [ranking.top(question_id, label, column).to_numpy() for column in scores.T]


def _kappa(a: np.ndarray, b: np.ndarray) -> float:
    from sklearn.metrics import cohen_kappa_score  # of the extra [study]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the division by zero where a and b are one and the same constant
        return float(cohen_kappa_score(a, b))
