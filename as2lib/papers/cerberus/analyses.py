"""What is special to CERBERUS: heads beside their teachers, and the majority of these; trains nothing.

k heads · k teachers: head i learnt from teacher i, in the order of the study's file
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy
import pandas

from as2lib.metrics import ranking
from as2lib.metrics.agreement import Agreement, agreement, majority
from as2lib.papers import paper_tables
from as2lib.papers.cerberus.rows import ours, roles, trivial
from as2lib.study import Study, results


def published(study: Study, table: str) -> pandas.DataFrame:
    """`paper_tables.published` of CERBERUS under our names: the rows beside which one of ours stands."""
    paper = paper_tables.published(study, "cerberus", table)
    paper = paper.set_axis([ours(study, run) for run in paper.index])
    return paper[paper.index != ""].rename_axis("run")


def first_choices(table: pandas.DataFrame, column: str = "score") -> numpy.ndarray:
    """The row of each answered question's top candidate."""
    table = results.answered(table)
    return ranking.top(table["question_id"], table["label"], table[column]).to_numpy()


def curves(study: Study, systems: Sequence[str], value: str, parts: Sequence[str] = ()) -> pandas.DataFrame:
    """What training logged under `value`, one row a point; values of dev are in percent.

    systems: run names.  parts: names of the entries of a value that is a list, such as one a head.
    """
    rows = [
        {"step": entry["step"], "system": study.systems[system].label, "seed": run.run.seed, "part": [*parts] or ""}
        | {value: entry[value]}
        for system in systems
        for run in study.runs(system)
        for entry in run.log()
        if value in entry
    ]
    columns = ["step", "system", "seed", "part", value]
    table = pandas.DataFrame(rows, columns=columns).explode(["part", value], ignore_index=True).astype({value: float})
    return table.assign(**{value: 100 * table[value]}) if value.startswith("dev_") else table


# ---------------------------------------------------------------- heads and teachers (notebook 06)


class Seed(NamedTuple):
    """What was scored with one seed: the answered test questions' pairs in each table, a column a ranker.

    The controls are the labels-only student and a ranker that learns nothing.
    """

    number: int
    heads: pandas.DataFrame  # those of the student, then the controls
    teachers: pandas.DataFrame
    rankers: pandas.DataFrame  # the student as a whole, then the controls
    label: pandas.Series
    question_id: pandas.Index

    def majority(self, ranker: str = "") -> pandas.DataFrame:
        """How a ranker's choices (default: the student's) stand to those of the teachers."""
        return majority(self.rankers[ranker or self.rankers.columns[0]], self.teachers, self.label, self.question_id)


def by_seed(study: Study) -> list[Seed]:
    """The test scores of each seed of the student, its teachers and the controls: of these that, or their first."""
    pair, teachers = ["question_id", "position"], [f"teacher/{name}" for name in study.teachers]
    names, mhs = [f"head_{i}" for i in range(len(teachers))], roles(study).mhs
    controls = [roles(study).base, trivial(study)[-1].run]
    others = {system: {run.run.seed: run for run in study.runs(system)} for system in (*teachers, *controls)}
    seeds = []
    for run in study.runs(mhs):
        student = results.answered(run.scores("test")).set_index(pair)
        columns = {"label": student["label"], mhs: student["score"]}
        columns |= {head: student[head] for head in names}
        for system, runs in others.items():
            other = runs.get(run.run.seed) or next(iter(runs.values()))  # as `Row.make` chooses a parent
            columns[system] = other.scores("test").set_index(pair)["score"].reindex(student.index)
        table = pandas.DataFrame(columns)
        parts = [table[part] for part in ([*names, *controls], teachers, [mhs, *controls])]
        seeds.append(Seed(run.run.seed, *parts, table["label"], table.index.get_level_values("question_id")))
    return seeds


def agreements(seeds: Sequence[Seed]) -> dict[str, pandas.DataFrame]:
    """Each measure of `metrics.agreement`, mean over seeds: a row a head or control, a column a teacher."""
    each = [agreement(seed.heads, seed.teachers, seed.label, seed.question_id) for seed in seeds]
    means = [numpy.mean(values, axis=0) for values in zip(*each, strict=True)]
    axes = seeds[0].heads.columns.rename("head"), seeds[0].teachers.columns
    return {measure: pandas.DataFrame(mean, *axes) for measure, mean in zip(Agreement._fields, means, strict=True)}


def figure3(study: Study, shared: pandas.DataFrame) -> pandas.DataFrame:
    """Percent of its correct choices that a head or control shares with each teacher, and with whom it shares most."""
    named = paper_tables.printed(study, "cerberus", "figure3").set_index("head")["agrees most with"]
    published: list[str | None] = [None] * len(shared)  # whom the paper names for that head; it prints no number
    for head, teacher in enumerate(study.teachers.values()):
        if teacher.stands_for in named:
            published[head] = ours(study, f"teacher/{named[teacher.stands_for]}") or None
    table = 100 * shared
    return table.assign(**{"agrees most with": table.idxmax(axis=1), "published": published})
