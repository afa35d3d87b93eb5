"""What is special to GOVERN: differences of what systems answer when they may stay silent."""

from collections.abc import Sequence
from functools import cache

import numpy
import pandas

from as2lib.metrics import significance, threshold
from as2lib.papers.cerberus.rows import run_here
from as2lib.study import Study
from as2lib.study.store import StoredRun

AUC = "qp prAUC"
RECALLS = ("q R@P", "qp R@P")
COMPARED = ["difference", "low", "high", "questions low", "questions high", "smallest seen", "seeds"]
SAMPLES = 1000  # of the questions, with replacement


def compare(study: Study, pairs: Sequence[tuple[str, str]], measure: str = AUC) -> pandas.DataFrame:
    """`results.compare`, of the pairs that are run, of a measure that is no mean over questions: `AUC`, or "q R@P" or
    "qp R@P" at the study's last precision.  Whole questions are drawn, with all their pairs, and Student's t of the
    seeds is added.

    Index (a, b); in points `difference`, `low`, `high`, `questions low`, `questions high`, `smallest seen`; `seeds`,
    paired as there.
    """
    pairs = run_here(study, pairs)
    values: dict[str, pandas.DataFrame] = {}  # system → a column a seed: of the questions, then of each sample
    for name in dict.fromkeys(name for pair in pairs for name in pair):
        of_seeds = {}
        for run in study.runs(name):
            rows = columns(run)
            counts = drawn(rows[0].nunique())
            of_seeds[run.run.seed] = threshold.resampled(*rows, counts, measure, study.govern.precisions[-1])
        values[name] = 100 * pandas.DataFrame(of_seeds)
    rows = []
    for a, b in pairs:
        of_a, of_b = values[a], values[b]
        if not set(of_a) & set(of_b):
            of_a, of_b = (of.mean(axis=1).to_frame() for of in (of_a, of_b))
        gaps = (of_a - of_b).dropna(axis=1).to_numpy()  # of the seeds that both have
        over_questions = gaps[1:].mean(axis=1)
        over_both = over_questions + significance.drawn_seeds(gaps[:1], SAMPLES, [0])
        both, questions = (numpy.percentile(draws, [2.5, 97.5]) for draws in (over_both, over_questions))
        low, high = min(both[0], questions[0]), max(both[1], questions[1])  # nan where there is one seed
        seen = max(significance.seen(draws - draws.mean()) for draws in (over_both, over_questions))
        row = {"difference": gaps[0].mean(), "low": low, "high": high}
        row |= {"questions low": questions[0], "questions high": questions[1]}
        rows.append(row | {"smallest seen": seen, "seeds": gaps.shape[1]})
    index = pandas.MultiIndex.from_tuples(pairs, names=["a", "b"])
    return pandas.DataFrame(rows, index, COMPARED, dtype=None if rows else float)


@cache
def drawn(questions: int) -> numpy.ndarray:
    """How often each question is in the test set, once, and then in each sample of it: (samples + 1, questions)."""
    samples = numpy.random.default_rng(0).multinomial(questions, numpy.full(questions, 1 / questions), SAMPLES)
    return numpy.asfortranarray(numpy.vstack([numpy.ones((1, questions)), samples]))  # as `resampled` reads it


def columns(run: StoredRun) -> tuple[pandas.Series, ...]:
    scores = run.scores()
    return tuple(scores[name] for name in ("question_id", "label", "score"))
