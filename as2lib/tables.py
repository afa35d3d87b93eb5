"""A result beside the published one: data frames of what runs scored; writes nothing and draws nothing."""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files

import numpy
import pandas

from as2lib.metrics import ranking
from as2lib.params import Study
from as2lib.store import Finished

METRICS = ["P@1", "MAP", "MRR"]
TIE_RULE = "equal scores count against the system"


@cache
def published(table: str) -> pandas.DataFrame:
    """One of the papers' tables by its file's name, such as `cerberus_table2`; metrics in percent."""
    with files("as2lib").joinpath("published", f"{table}.csv").open(encoding="utf-8") as file:
        return pandas.read_csv(file)


def per_question(runs: Iterable[Finished], metric: str = "AP", split: str = "test", questions: str = "answered"):
    """One column a run (a seed), one row a question: what the tests of difference compare."""
    columns = {run.name: _of_run(run, split, questions)[metric] for run in runs}
    return pandas.DataFrame(columns)


def results(
    study: Study,
    systems: Sequence[tuple[str, str]],
    split: str = "test",
    questions: str = "answered",
    beside: pandas.DataFrame | None = None,
    dataset: str = "WikiQA",
) -> pandas.DataFrame:
    """One row a system: mean and sample standard deviation over its seeds, in percent.

    systems: (label, run prefix) pairs.  beside: a published table with a `run` column; `dataset` names its columns.
    Columns: seeds, parameters, P@1, MAP, MRR each with " ±", ties (share of questions with a tie at the top), and the
    published P@1, MAP, MRR (missing where the paper has none).
    """
    rows = []
    for label, prefix in systems:
        runs = study.runs(prefix)
        row = {"system": label, "run": prefix, "seeds": len(runs), "parameters": runs[0].facts["parameters"]}
        row |= _mean_and_spread(runs, split, questions)
        if beside is not None:
            row |= _published_row(beside, prefix, dataset)
        rows.append(row)
    return pandas.DataFrame(rows).set_index("system")


def expected_random(pairs, questions: str = "answered") -> dict[str, float]:
    """The exact expectation of a random order, in percent, with the columns of `results`."""
    from as2lib.models.lexical import expected_random as expectation

    found = expectation(pairs, questions=questions)
    return {name: 100 * found[name] for name in METRICS}


def leakage(splits: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    """Distinct questions and candidate sentences that two pair sets share, letter by letter.

    splits: name → a frame with `question` and `answer`.  Columns: a, b, the two counts, and each as a share of b's.
    """
    names, rows = list(splits), []
    texts = {name: (set(table["question"]), set(table["answer"])) for name, table in splits.items()}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            questions, answers = (texts[a][j] & texts[b][j] for j in (0, 1))
            row = {"of": b, "also in": a, "questions": len(questions), "sentences": len(answers)}
            row["questions %"] = 100 * len(questions) / max(1, len(texts[b][0]))
            row["sentences %"] = 100 * len(answers) / max(1, len(texts[b][1]))
            rows.append(row)
    return pandas.DataFrame(rows)


def statistics(pairs: pandas.DataFrame) -> dict[str, float]:
    """Questions, pairs, correct answers and mean lengths of a labelled pair table."""
    by_question = pairs.groupby("question_id", sort=False)["label"]
    correct = by_question.sum()
    return {
        "questions": len(correct),
        "pairs": len(pairs),
        "correct": int(correct.sum()),
        "candidates a question": len(pairs) / max(1, len(correct)),
        "two or more correct": int((correct > 1).sum()),
        "words a question": pairs["question"].str.split().str.len().mean(),
        "words a candidate": pairs["answer"].str.split().str.len().mean(),
    }


def _of_run(run: Finished, split: str, questions: str) -> pandas.DataFrame:
    table = run.scores(split)
    return ranking.per_question(table["question_id"], table["label"], table["score"], questions)


def _mean_and_spread(runs: Sequence[Finished], split: str, questions: str) -> dict[str, float]:
    found, ties = [], []
    for run in runs:
        table = run.scores(split)
        found.append(ranking.summary(table["question_id"], table["label"], table["score"], questions))
        ties.append(ranking.top_ties(table["question_id"], table["label"], table["score"], questions))
    row = {}
    for metric in METRICS:
        values = 100 * numpy.array([one[metric] for one in found])
        row[metric] = values.mean()
        row[f"{metric} ±"] = values.std(ddof=1) if len(values) > 1 else numpy.nan
    return row | {"ties %": 100 * float(numpy.mean(ties)), "questions": found[0]["questions"]}


def _published_row(table: pandas.DataFrame, prefix: str, dataset: str) -> dict[str, float]:
    match = table[table["run"] == prefix]
    columns = {metric: f"{dataset} {metric}" for metric in METRICS}
    return {
        f"published {metric}": float(match[column].iloc[0]) if len(match) and column in match else numpy.nan
        for metric, column in columns.items()
    }
