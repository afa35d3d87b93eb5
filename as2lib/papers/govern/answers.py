"""GOVERN's tables as frames: what systems answer when they may stay silent, and how teachers vote; draws nothing."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics import ranking, threshold
from as2lib.metrics.vote import premise
from as2lib.runs import results as tables
from as2lib.runs.store import Finished

if TYPE_CHECKING:
    from as2lib.study import Study

AUC, ANSWERED = "qp prAUC (all)", ["P@1 (answered)", "MAP (answered)"]
TEACHERS = 3  # of the groups that `premises` looks at: the smallest jury


def recalls(precisions: Sequence[float]) -> list[str]:
    """What tables call the recalls at these precisions: of questions, then of pairs."""
    return [f"{what} R@P={100 * precision:g} (all)" for precision in precisions for what in ("q", "qp")]


def measures(run: Finished, precisions: Sequence[float] = (0.9,)) -> dict[str, float]:
    """One run's threshold metrics over all test questions, and P@1 and MAP over the answered ones, in percent."""
    columns = _columns(run)
    values = []
    for precision in precisions:
        values.append(threshold.question_recall_at_precision(*columns, precision=precision))
        values.append(threshold.pair_recall_at_precision(*columns[1:], precision=precision))
    values.append(threshold.pair_pr_auc(*columns[1:]))
    values += map(ranking.summary(*columns).get, ("P@1", "MAP"))
    return {name: 100 * value for name, value in zip([*recalls(precisions), AUC, *ANSWERED], values, strict=True)}


def results(study: "Study", systems: Sequence[tuple[str, str]], beside: pandas.DataFrame) -> pandas.DataFrame:
    """One row a system: mean and sample standard deviation over its seeds, in percent, beside the published values.

    systems: (label, run prefix) pairs.  beside: a published table with a `run` column.
    Columns: run, seeds, parameters, each of `measures` with " ±", "unreached" (seeds with a recall of 0 at the first
    precision, since no threshold reaches it) and `published …` for every metric that the published table has.
    """
    rows = []
    published = beside.set_index("run")
    for label, prefix in systems:
        runs = study.runs(prefix)
        found = pandas.DataFrame([measures(run, study.govern.precisions) for run in runs])
        row = {"system": label, "run": prefix, "seeds": len(runs), "parameters": runs[0].facts["parameters"]}
        for name in found:
            row |= {name: found[name].mean(), f"{name} ±": found[name].std(ddof=1)}
        row["unreached"] = int((found[recalls(study.govern.precisions)[:2]] == 0).any(axis=1).sum())
        for metric in (name.removesuffix(" (all)") for name in found):
            if metric in published:
                row[f"published {metric}"] = published[metric].get(prefix, numpy.nan)
        rows.append(row)
    return pandas.DataFrame(rows).set_index("system")


def gsb(study: "Study", base: str, new: str) -> pandas.DataFrame:
    """Good : Same : Bad of one system against another over all questions, a row a seed; gain in percent."""
    rows = {}
    for seed, pair in enumerate(zip(study.runs(base), study.runs(new), strict=True)):
        tops = [ranking.per_question(*_columns(run), "all")["P@1"] for run in pair]
        found = threshold.gsb(*tops)
        rows[f"seed {study.seeds[seed]}"] = {**found._asdict(), "gain": 100 * found.gain, "p sign": found.p}
    return pandas.DataFrame.from_dict(rows, orient="index").drop(columns="p").rename_axis("questions")


def beside_published_gsb(ours: pandas.DataFrame) -> pandas.DataFrame:
    """`gsb`'s rows above those of GOVERN's Table 3; tail queries, which no public set marks, stay empty."""
    paper = tables.published("govern_table3")
    tops = [
        ([0] * good + [1] * bad, [1] * good + [0] * bad) for good, bad in zip(paper["good"], paper["bad"], strict=True)
    ]
    paper = paper.assign(**{"p sign": [threshold.gsb(*pair).p for pair in tops]})
    paper = paper.set_index("published, " + paper.pop("queries") + " queries")
    unknown = pandas.DataFrame(index=["tail queries: not known"], columns=ours.columns, dtype=float)
    together = pandas.concat([table.astype(float) for table in (ours, unknown, paper[list(ours)])])
    return together.astype({name: "Int64" for name in ("good", "same", "bad")}).rename_axis("questions")


def teachers_curve(study: "Study") -> pandas.DataFrame:
    """GOVERN's Figure 2, a row a point and seed: system, teachers, seed, qp prAUC; one teacher serves both systems."""
    rows = []
    for system, name in (("GOVERN", "govern"), ("mean", "mean")):
        for number in study.govern.ablation.teachers:
            for run in study.runs(f"govern/{'mean' if number == 1 else name}-of-{number}"):
                point = {"system": system, "teachers": number, "seed": run.name.rsplit("-", 1)[1]}
                rows.append(point | {"qp prAUC": measures(run)[AUC]})
    return pandas.DataFrame(rows)


def mean_and_spread(curve: pandas.DataFrame) -> pandas.DataFrame:
    """The points of `teachers_curve`: a row a number of teachers, the mean over seeds of each system, and " ±"."""
    means, spreads = (curve.pivot_table("qp prAUC", "teachers", "system", aggfunc=how) for how in ("mean", "std"))
    return means.join(spreads.reindex_like(means).add_suffix(" ±")).rename_axis(None, axis=1)


def premises(runs: dict[str, Finished], student: Finished | None = None, size: int = TEACHERS) -> pandas.DataFrame:
    """`vote.premise` of every group of `size` teachers, in percent, seen from a student, or an undecided one.

    runs: label → a teacher's run; one that is there under two labels counts once.  One row a group, index `teachers`;
    the correlation stays within [-1, 1].
    """
    first = {run.identity: label for label, run in reversed(runs.items())}
    runs = {label: run for label, run in runs.items() if first[run.identity] == label}
    scored = {label: run.scores() for label, run in runs.items()}
    label = next(iter(scored.values()))["label"]
    seen_from = 0.5 if student is None else student.scores()["score"]
    rows = {}
    for group in combinations(runs, min(size, len(runs))):
        found = premise(label, [scored[one]["score"] for one in group], seen_from)
        rows[" + ".join(group)] = {name.replace("_", " "): 100 * value for name, value in found._asdict().items()}
    table = pandas.DataFrame.from_dict(rows, orient="index").rename_axis("teachers")
    return table.assign(correlation=table["correlation"] / 100)


def _columns(run: Finished) -> tuple[pandas.Series, pandas.Series, pandas.Series]:
    table = run.scores()
    return table["question_id"], table["label"], table["score"]
