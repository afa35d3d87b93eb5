"""What is special to CERBERUS: heads beside their teachers, their majority, how sure a teacher is; trains nothing.

k heads · k teachers: head i learnt from teacher i, in the order of the study's file
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy
import pandas

from as2lib.metrics import ranking, significance
from as2lib.metrics.agreement import Agreement, Majority, agreement, majority, rank_correlation
from as2lib.metrics.probability import log_odds
from as2lib.papers import paper_tables
from as2lib.papers.cerberus.rows import ours, roles, trivial
from as2lib.study import Study, results
from as2lib.study.run import Row
from as2lib.study.store import StoredRun

MEASURES = {  # of `metrics.agreement` → what a table calls them
    "shared": "correct top candidates shared (Figure 3)",
    "kappa": "top candidates: Cohen's kappa",
    "kappa_correct": "top candidates correct: Cohen's kappa",
    "correlation": "whole lists: rank correlation",
}
CASES = {  # of `metrics.agreement.majority` → what a table calls them
    "all right": "all teachers and the student right",
    "follows": "follows a right majority",
    "overrides": "overrides a wrong majority",
    "rest": "the remaining cases",
}


def published(study: Study, table: str) -> pandas.DataFrame:
    """`paper_tables.published` of CERBERUS under our names: the rows beside which one of ours stands."""
    paper = paper_tables.published(study, "cerberus", table)
    paper = paper.set_axis([ours(study, run) for run in paper.index])
    return paper[paper.index != ""].rename_axis("run")


# ---------------------------------------------------------------- heads (notebooks 03 and 04)


def heads(runs: Sequence[StoredRun], labels: Sequence[str]) -> pandas.DataFrame:
    """P@1, MAP and MRR in percent of each head as a ranker, and of their combined score; means over runs."""
    columns = {label: f"head_{i}" for i, label in enumerate(labels)} | {"combined": "score"}
    tables = [run.scores() for run in runs]
    scores = {label: [table.assign(score=table[column]) for table in tables] for label, column in columns.items()}
    return results.mean_and_spread(results.frame(scores))[results.METRICS].rename_axis("head")


def combined_heads(runs: Sequence[StoredRun]) -> pandas.DataFrame:
    """P@1, MAP and MRR in percent of the heads' mean probability (equation 5) and of their mean logit; over runs."""
    scores: dict[str, list[pandas.DataFrame]] = {"probability": [], "logit": []}
    for table in (run.scores() for run in runs):
        heads = table.filter(like="head_").to_numpy()
        scores["probability"].append(table.assign(score=heads.mean(axis=1)))
        scores["logit"].append(table.assign(score=log_odds(heads).mean(axis=1)))
    return results.mean_and_spread(results.frame(scores))[results.METRICS].rename_axis("average of")


def disagreement(runs: Sequence[StoredRun]) -> float:
    """Percent of answered questions where two heads have another top candidate; mean over pairs of heads and runs."""
    shares = []
    for table in (run.scores() for run in runs):
        choices = [first_choices(table, head) for head in table.filter(like="head_")]
        shares += [(a != b).mean() for a, b in combinations(choices, 2)]
    return 100 * float(numpy.mean(shares)) if shares else numpy.nan  # one head has no other


def first_choices(table: pandas.DataFrame, column: str = "score") -> numpy.ndarray:
    """The row of each answered question's top candidate."""
    table = results.answered(table)
    return ranking.top(table["question_id"], table["label"], table[column]).to_numpy()


def confidence(study: Study, systems: Sequence[Row]) -> pandas.DataFrame:
    """Percent of its scores below 0.05, above 0.95, and either (section 3.2); means over seeds, dev and test."""
    rows = {}
    for system in (system for system in systems if system.seeds):
        scores = [run.scores(split)["score"] for run in study.runs(system.run) for split in ("dev", "test")]
        low = numpy.mean([100 * (score < 0.05).mean() for score in scores])
        high = numpy.mean([100 * (score > 0.95).mean() for score in scores])
        rows[system.run] = {"below 0.05": low, "above 0.95": high, "near 0 or 1": low + high}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("run")


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
    """What was scored with one seed: the answered test questions' pairs in each table, a column a ranker."""

    number: int
    heads: pandas.DataFrame  # those of the student, then the controls: the untaught base, a ranker that learns nothing
    teachers: pandas.DataFrame
    rankers: pandas.DataFrame  # the student as a whole, then the controls
    label: pandas.Series
    question_id: pandas.Index

    def majority(self, ranker: str = "") -> Majority:
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


def own_teacher(agreements: Mapping[str, pandas.DataFrame]) -> pandas.DataFrame:
    """A row a measure: what a teacher has with its own head, and with the other heads, so that its strength cancels."""
    k = len(agreements["shared"].columns)
    rows = {}
    for measure, label in MEASURES.items():
        square = agreements[measure].to_numpy()[:k]  # (k heads, k teachers)
        own = numpy.diag(square)
        others = (square.sum(axis=0) - own) / (k - 1)
        first = int((square.argmax(axis=0) == numpy.arange(k)).sum())  # teachers with whom their own head agrees most
        row = {"own": own.mean(), "other heads": others.mean(), "difference": (own - others).mean(), "first": first}
        rows[label] = row
    return pandas.DataFrame.from_dict(rows, orient="index").assign(teachers=k).rename_axis("measure")


def own_teacher_test(seeds: Sequence[Seed]) -> pandas.DataFrame:
    """Paired over answered questions: a teacher's rank correlation with its own head, minus that with the others.

    Each question's value is the mean over seeds; one where a score is constant for some pair is left out.
    Returns a row `own teacher`, the mean over teachers, then a row a teacher.
    """
    gaps, teachers = {}, [*seeds[0].teachers]
    for place, teacher in enumerate(teachers):
        own, others = [], []
        for seed, head in product(seeds, range(len(teachers))):
            values = rank_correlation(seed.heads.iloc[:, head], seed.teachers[teacher], seed.question_id)
            (own if head == place else others).append(values)
        means = [pandas.concat(part, axis=1).mean(axis=1, skipna=False) for part in (own, others)]
        gaps[teacher] = means[0] - means[1]
    gaps = {"own teacher": pandas.DataFrame(gaps).mean(axis=1, skipna=False), **gaps}
    known = [gap.dropna() for gap in gaps.values()]
    tests = pandas.DataFrame([significance.compare(gap, 0 * gap) for gap in known], index=[*gaps])
    return tests.rename(columns={"n": "questions"})[["difference", "low", "high", "p", "questions"]]


def majorities(seeds: Sequence[Seed], paper: pandas.DataFrame) -> pandas.DataFrame:
    """How many questions fall in each case, mean over seeds: the student's number, and percent of it and the controls.

    paper: the paper's table "majority", or none of its rows.  published: percent of WikiQA's 243 test questions; the
    last case is what remains of them.  Ours are the questions in which the student is wrong; of the paper's 28 it is
    right in two, as Table 2 prints P@1 89.3, which are 217 of 243.
    """
    cases = [{ranker: seed.majority(ranker).by_question["case"] for ranker in seed.rankers} for seed in seeds]
    every = pandas.concat(map(pandas.DataFrame, cases))
    means = every.apply(pandas.Series.value_counts).reindex([*CASES]).fillna(0) / len(seeds)
    table = 100 * means / seeds[0].question_id.nunique()
    table.insert(0, "questions", means.iloc[:, 0])
    if not paper.empty:
        published, total = paper.set_index("case")["questions"].reindex([*CASES]).astype(float), paper["of"].iloc[0]
        published["rest"] = total - paper["questions"].sum()
        table = table.assign(published=100 * published / total, **{"published questions": published.astype(int)})
    return table.rename(index=CASES).rename_axis("case")


def confidence_by_case(seeds: Sequence[Seed]) -> pandas.DataFrame:
    """P(correct), in percent, that each teacher and the surest one give their top candidate, by case."""
    every, teachers = _with_confidence(seeds)
    table = every.groupby("case")[[*teachers, "surest"]].mean().reindex([*CASES])
    table.insert(0, "questions", every["case"].value_counts().reindex([*CASES], fill_value=0))
    return table.rename(index=CASES)


def overridden(seeds: Sequence[Seed]) -> pandas.DataFrame:
    """Every question whose majority the student overrode, index seed, those with the surest teacher first."""
    every, teachers = _with_confidence(seeds)
    table = every[every["case"] == "overrides"].rename_axis("question").reset_index().set_index("seed")
    table = table.rename(columns={"teachers": "teachers right"})[["question", "teachers right", *teachers, "surest"]]
    return table.sort_values("surest", ascending=False, kind="stable")


def _with_confidence(seeds: Sequence[Seed]) -> tuple[pandas.DataFrame, list[str]]:
    """The student's questions of all seeds with the teachers' confidence in percent, and the teachers' names."""
    every = pandas.concat([seed.majority().by_question.assign(seed=seed.number) for seed in seeds])
    teachers = [*seeds[0].teachers]
    every[teachers] = 100 * every[[f"confidence {j}" for j in range(len(teachers))]].to_numpy()
    every["surest"] = every[teachers].max(axis=1)
    return every, teachers


# ---------------------------------------------------------------- the paper's tests (notebook 07)


def papers_tests(scores: pandas.DataFrame, pairs: Sequence[tuple[str, str]]) -> pandas.DataFrame:
    """The tests named under Table 2, of each question's AP (mean over the seeds that both have): a row a pair (a, b).

    Wilcoxon p: signed-rank, Pratt, uncorrected as in the paper; effect: matched-pairs rank-biserial correlation;
    Spearman: of the two systems' values over questions, from which the paper reads equality, uncorrected too.
    """
    means = scores.pivot_table("AP", "question_id", "system").round(significance.DECIMALS)
    rows = {}
    for a, b in pairs:
        gap = results.differences(scores, a, b).mean(axis=1)
        _, p, effect = significance.signed_rank(gap.to_numpy())
        rho, rho_p = significance.spearman(means[a].to_numpy(), means[b].to_numpy())
        rows[a, b] = {"difference": 100 * gap.mean(), "Wilcoxon p": p, "effect": effect}
        rows[a, b] |= {"Spearman": rho, "Spearman p": rho_p}
    table = pandas.DataFrame.from_dict(rows, orient="index").rename_axis(["a", "b"])
    table.insert(2, "Wilcoxon p Holm", significance.holm(table["Wilcoxon p"]))
    return table
