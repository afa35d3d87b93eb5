"""What a system answers when it may stay silent: recall at a precision, PR-AUC and Good : Same : Bad; knows no model.

A threshold takes every equal score or none. A wrong answer to a question without a correct candidate counts, so these
metrics are over all questions (policy "all"). Among equal scores of a question the incorrect candidates come first.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from as2lib.metrics.ranking import Values, paired, read, top

# n rows (question and candidate) · q questions · r samples


class Gsb(NamedTuple):
    good: int  # questions that the new system answers better
    same: int
    bad: int
    gain: float  # (good - bad) / (good + same + bad)
    p: float  # two-sided sign test of good against bad; 1 where there is neither


def question_recall_at_precision(question_id: Values, label: Values, score: Values, precision: float = 0.9) -> float:
    """The largest recall of questions among the thresholds that reach a precision; 0 where none does.

    Only a question's top candidate is shown: TP where it is correct and reaches the threshold, FP where it is wrong and
    reaches it, FN where it does not and the question has a correct candidate.  recall = TP / (TP + FN)

    question_id: (n,) any ids.  label: (n,) 0 or 1.  score: (n,) numbers, not nan, higher is better.
    Raises ValueError as `ranking.per_question` does.  Source: GOVERN, section 4.3, "q R@P=90%".
    """
    once = np.ones((1, len(top(question_id, label, score))))
    return float(resampled(question_id, label, score, once, "q R@P", precision)[0])


def pair_recall_at_precision(label: Values, score: Values, precision: float = 0.9) -> float:
    """The largest recall of correct pairs among the thresholds that reach a precision; 0 where none does.

    label: (n,) 0 or 1.  score: (n,) numbers, not nan, higher is better.
    Raises ValueError as `ranking.per_question` does, and where no pair is correct.
    Source: GOVERN, section 4.3, "qp R@P=90%".
    """
    return _of_pairs(label, score, "qp R@P", precision)


def pair_pr_auc(label: Values, score: Values) -> float:
    """The average precision of all pairs (GOVERN, section 4.6, "qp prAUC").  Errors: as `pair_recall_at_precision`."""
    return _of_pairs(label, score, "qp prAUC")


def resampled(
    question_id: Values, label: Values, score: Values, counts: np.ndarray, measure: str, precision: float = 0.9
) -> np.ndarray:
    """One of the three measures above on r samples of the questions at once, for a bootstrap: (r,) float64.

    counts: (r, q) how often each question, first seen first, is in each sample.
    measure: "q R@P", "qp R@P" or "qp prAUC".  precision: of the first two.
    """
    from scipy.sparse import csr_array

    if not 0 < precision <= 1:
        raise ValueError(f"precision: expected a share, above 0 and 1 at most; got {precision!r}")
    question = pd.factorize(np.asarray(question_id))[0]
    label, score = np.asarray(label, dtype=float), np.asarray(score, dtype=float)
    possible = label
    if measure == "q R@P":
        rows = top(question_id, label, score).to_numpy()
        possible = (np.bincount(question, weights=label) > 0)[question[rows]].astype(float)
        question, label, score = question[rows], label[rows], score[rows]
    order = np.argsort(-score, kind="stable")
    question, label, possible, ranked = question[order], label[order], possible[order], score[order]
    last = np.append(ranked[1:] != ranked[:-1], True)  # a threshold takes every equal score
    threshold = np.cumsum(last) - last
    # Recall changes at some of them alone, and precision falls up to the next of these: many samples need no other.
    thresholds = np.unique(threshold[possible > 0]) if len(counts) > 1 else np.arange(last.sum())
    step, shape = np.searchsorted(thresholds, threshold), (len(thresholds) + 1, counts.shape[1])
    drawn = np.ascontiguousarray(counts.T, dtype=np.float64)

    def reached(weight: np.ndarray) -> np.ndarray:  # (t, r)
        of_steps = csr_array((weight, (step, question)), shape)[:-1]
        return np.cumsum(of_steps @ drawn, axis=0)

    taken, correct, answerable = reached(np.ones(len(label))), reached(label), reached(possible)
    precise = correct / taken.clip(min=1)
    recall = correct / (correct + answerable[-1:] - answerable).clip(min=1)
    if measure == "qp prAUC":
        return (np.diff(recall, axis=0, prepend=0) * precise).sum(axis=0)
    return np.max(recall, axis=0, where=precise >= precision, initial=0.0)


def gsb(base: Values, new: Values) -> Gsb:
    """Good : Same : Bad of a new system against a base system, question by question.

    Same: the same top candidate, or two of one label.  gain = (good - bad) / (good + same + bad)

    base, new: (q,) the label of each question's top candidate: the P@1 column of `ranking.per_question` under
        questions="all".  Raises ValueError where the questions differ, or a value is not 0 or 1.
    Source: GOVERN, sections 4.3 and 4.5 (27 : 364 : 9 is a gain of 4.5 %).
    """
    from scipy.stats import binomtest

    base, new = paired(base, new)
    if base.shape != new.shape or not 0 < len(base) == base.size or not np.isin([base, new], [0, 1]).all():
        raise ValueError(f"expected a 0 or 1 a question, of both; got shapes {base.shape} and {new.shape}")
    good, bad = int(np.sum(new > base)), int(np.sum(new < base))
    p = float(binomtest(good, good + bad).pvalue) if good + bad else 1.0
    return Gsb(good, len(base) - good - bad, bad, (good - bad) / len(base), p)


def _of_pairs(label: Values, score: Values, measure: str, precision: float = 0.9) -> float:
    """One of the two measures to which all pairs are as those of one question."""
    rows = read(np.zeros(len(label), dtype=int), label, score)
    if not rows.correct.any():
        raise ValueError(f"label: expected at least one correct pair, got none among {len(label)}")
    return float(resampled(rows.question, rows.correct, rows.score, np.ones((1, 1)), measure, precision)[0])
