"""Whether a student's heads resemble their teachers: agreement and majority over a study's runs, as data frames."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy
import pandas

from as2lib.metrics.agreement import Agreement, agreement, majority, rank_correlation
from as2lib.metrics.significance import Comparison, compare
from as2lib.runs.params import FAMILIES
from as2lib.runs.results import published

if TYPE_CHECKING:
    from as2lib.study import Study

# q questions · k heads · t = k teachers, in the order of FAMILIES: head i learnt from teacher i
STUDENT = "mhs/3h1"
MEASURES = {
    "shared": "correct top candidates shared (Figure 3)",
    "kappa": "top candidates: Cohen's kappa",
    "kappa_correct": "top candidates correct: Cohen's kappa",
    "correlation": "whole lists: rank correlation",
}
CASES = {
    "all right": "all teachers and the student right",
    "follows": "follows a right majority",
    "overrides": "overrides a wrong majority",
    "rest": "the student wrong",
}


class Seed(NamedTuple):
    """The test scores of one seed, over the same rows."""

    heads: pandas.DataFrame  # a column a head, then one a control
    teachers: pandas.DataFrame
    students: pandas.DataFrame  # the student's combined score, then the controls
    label: pandas.Series
    question_id: pandas.Series


def agreements(study: "Study", controls: dict[str, str]) -> dict[str, pandas.DataFrame]:
    """Each measure of `metrics.agreement`, mean over seeds: a row a head or control, a column a teacher.

    controls: label → run prefix of rankers that no teacher of the study taught.
    """
    found, names = [], None
    for seed in _seeds(study, controls):
        found.append(agreement(seed.heads, seed.teachers, seed.label, seed.question_id))
        names = {"index": pandas.Index(seed.heads.columns, name="head"), "columns": seed.teachers.columns}
    means = [numpy.mean(values, axis=0) for values in zip(*found, strict=True)]
    return {measure: pandas.DataFrame(mean, **names) for measure, mean in zip(Agreement._fields, means, strict=True)}


def own_teacher(found: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    """A row a measure: what a head has with its own teacher, with what the other heads have with that same teacher.

    Compared within a teacher, its strength cancels.  found: from `agreements`.  Columns: own, other heads, difference,
    first (teachers whose own head is the one that agrees with them most), teachers.
    """
    rows = []
    for measure, label in MEASURES.items():
        square = found[measure].to_numpy()[: len(FAMILIES)]  # (k, t)
        own = numpy.diag(square)
        others = (square.sum(axis=0) - own) / (len(square) - 1)
        first = int((square.argmax(axis=0) == numpy.arange(len(square))).sum())
        row = {"own": own.mean(), "other heads": others.mean(), "difference": (own - others).mean()}
        rows.append({"measure": label, **row, "first": first, "teachers": len(square)})
    return pandas.DataFrame(rows).set_index("measure")


def own_teacher_test(study: "Study") -> Comparison:
    """Paired over answered questions: a head's rank correlation with its own teacher against the other heads' with it.

    Each question's value is the mean over teachers and seeds; one where a score is constant for some pair is left out.
    """
    own, others = [], []
    for seed in _seeds(study, {}):
        answered = seed.label.groupby(seed.question_id).transform("max") == 1
        heads, teachers, question = seed.heads[answered], seed.teachers[answered], seed.question_id[answered]
        for j, teacher in enumerate(teachers):
            for i, head in enumerate(heads):
                found = rank_correlation(heads[head], teachers[teacher], question)
                (own if i == j else others).append(found)
    means = pandas.concat([pandas.concat(part, axis=1).mean(axis=1, skipna=False) for part in (own, others)], axis=1)
    means = means.dropna()
    return compare(means[0], means[1], **study.significance.model_dump(exclude={"alpha"}))


def majorities(study: "Study", label: str, controls: dict[str, str]) -> pandas.DataFrame:
    """A row a case of the majority analysis: how many questions fall in it, mean over seeds.

    Columns: questions (the student's), `label` (the same in percent), each control in percent, published (percent),
    published questions (of 243 on WikiQA; the rest is what remains).
    """
    counts, total = [], 0
    for seed in _seeds(study, controls):
        by_student = {}
        for name, scores in seed.students.items():
            found = majority(scores, seed.teachers, seed.label, seed.question_id).by_question
            by_student[name] = found["case"].value_counts().reindex(CASES, fill_value=0)
            total = len(found)
        counts.append(pandas.DataFrame(by_student).rename(columns={"student": label}))
    means = sum(counts) / len(counts)
    paper = published("cerberus_majority").set_index("case")
    theirs = paper["questions"].reindex(CASES).astype(float)
    theirs["rest"] = paper["of"].iloc[0] - paper["questions"].sum()
    table = (100 * means / total).assign(published=100 * theirs / paper["of"].iloc[0])
    table.insert(0, "questions", means[label])
    table["published questions"] = theirs
    return table.rename(index=CASES).rename_axis("case")


def majority_cells(study: "Study") -> pandas.DataFrame:
    """Questions, mean over seeds, by how many teachers are right (rows, all first) and whether the student is."""
    cells = [majority(s.students["student"], s.teachers, s.label, s.question_id).cells for s in _seeds(study, {})]
    return sum(cells) / len(cells)


def confidences(study: "Study") -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """What the teachers give their own top candidates: (mean by case, every overridden question).

    By case: questions (of all seeds), each teacher's P(correct) in percent, mean over them, and the surest teacher's.
    Overridden questions: seed, question, how many teachers are right, and each teacher's.
    """
    found = []
    for number, seed in zip(study.seeds, _seeds(study, {}), strict=True):
        table = majority(seed.students["student"], seed.teachers, seed.label, seed.question_id).by_question
        columns = {f"confidence {j}": name for j, name in enumerate(seed.teachers)}
        table = table.rename(columns=columns).assign(seed=number)
        table[list(columns.values())] *= 100
        found.append(table.assign(surest=table[list(columns.values())].max(axis=1)))
    names = list(columns.values())
    every = pandas.concat(found)
    by_case = every.groupby("case")[[*names, "surest"]].mean().reindex(CASES)
    by_case.insert(0, "questions", every["case"].value_counts().reindex(CASES, fill_value=0))
    by_case = by_case.rename(index=CASES).rename_axis("case")
    overridden = every[every["case"] == "overrides"].reset_index()
    overridden = overridden.rename(columns={"question_id": "question", "teachers": "teachers right"})
    return by_case, overridden[["seed", "question", "teachers right", *names]].set_index("seed")


def _seeds(study: "Study", controls: dict[str, str]) -> Iterator[Seed]:
    """One `Seed` for each seed of the student; a control without seeds is the same each time."""
    names = [study.backbones[family].name for family in FAMILIES]
    taught = [study.runs(f"teacher/{family}") for family in FAMILIES]
    others = {label: study.runs(prefix) for label, prefix in controls.items()}
    for number, run in enumerate(study.runs(STUDENT)):
        table = run.scores("test")
        rows = table[["question_id", "position"]]
        teachers = {f"{name} large": _scores(runs, number, rows) for name, runs in zip(names, taught, strict=True)}
        heads = {f"head taught by {name}": table[f"head_{i}"] for i, name in enumerate(names)}
        beside = {label: _scores(runs, number, rows) for label, runs in others.items()}
        students = {"student": table["score"], **beside}
        frames = (pandas.DataFrame(columns) for columns in ({**heads, **beside}, teachers, students))
        yield Seed(*frames, table["label"], table["question_id"])


def _scores(runs: list, number: int, rows: pandas.DataFrame) -> pandas.Series:
    table = runs[number % len(runs)].scores("test")
    if not table[["question_id", "position"]].equals(rows):
        raise ValueError(f"{runs[0].name}: expected scores of the student's test pairs, in their order")
    return table["score"]
