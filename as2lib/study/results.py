"""From scores to a tidy frame, to a table, to comparisons; writes nothing, draws nothing, composes no sentence.

SCORES, the frame that every table starts from: one row a system, seed and question, with the columns
`system` (its run name), `seed`, `question_id`, and `AP`, `P@1`, `RR`, `nDCG@10` in [0, 1].
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

import pandas

from as2lib.metrics import ranking
from as2lib.study.run import System

if TYPE_CHECKING:
    from as2lib.metrics.significance import Comparison
    from as2lib.study.study import Study

MEASURES = {"P@1": "P@1", "MAP": "AP", "MRR": "RR", "nDCG@10": "nDCG@10"}  # a mean → what it is the mean of
METRICS = ["P@1", "MAP", "MRR"]  # those of most tables
COLUMNS = ["system", "seed", "question_id", "AP", "P@1", "RR", "nDCG@10"]


def load(
    study: "Study", systems: "Iterable[System] | Mapping[str, System]", split: str = "test", questions: str = "answered"
) -> pandas.DataFrame:
    """SCORES of the runs of some systems; runs that are missing are made first.

    systems: of `System`.  questions: the policy, as in `metrics.ranking`.
    Returns a DataFrame, systems in the order given; `attrs["parameters"]` has those of each system's models.
    """
    systems = list(systems.values()) if isinstance(systems, Mapping) else list(systems)
    systems = [study.systems.get(system.run, system) for system in systems]  # with the seeds that the study gives it
    study.add(systems)
    frames, parameters = [], {}
    for system in systems:
        for run in system.runs():
            stored = study.run(run.name)
            frames.append(of_questions(stored.scores(split), questions).assign(system=system.run, seed=run.seed))
            parameters.setdefault(system.run, stored.facts.get("parameters"))
    scores = pandas.concat(frames, ignore_index=True)[COLUMNS] if frames else pandas.DataFrame(columns=COLUMNS)
    scores.attrs["parameters"] = parameters
    return scores


def frame(tables: Mapping[str, Sequence[pandas.DataFrame]], questions: str = "answered") -> pandas.DataFrame:
    """SCORES of scored pairs that no run holds, such as rankers in a row: system → a table a seed, numbered from 0."""
    frames = []
    for system, seeds in tables.items():
        frames += [of_questions(table, questions).assign(system=system, seed=seed) for seed, table in enumerate(seeds)]
    return pandas.concat(frames, ignore_index=True)[COLUMNS]


def of_questions(table: pandas.DataFrame, questions: str = "answered") -> pandas.DataFrame:
    """One row a question, of scored pairs: question_id, P@1, AP, RR, nDCG@10 in [0, 1]."""
    values = ranking.per_question(table["question_id"], table["label"], table["score"], questions=questions)
    return values.reset_index()


def printed(paper: str, name: str) -> pandas.DataFrame:
    """One of a paper's tables as its file has it: `printed("cascade", "table1")`."""
    with files("as2lib").joinpath("papers", paper, "published", f"{name}.csv").open(encoding="utf-8") as file:
        return pandas.read_csv(file)


def published(paper: str, name: str) -> pandas.DataFrame:
    """One of a paper's tables by its paper and file: DataFrame indexed by `run`, columns (set, measure) where the file
    has "WikiQA MAP", else its own; metrics in percent.  `published("cerberus", "table2")["WikiQA"]` has P@1, MAP, MRR.
    """
    table = printed(paper, name)
    if "run" in table:
        table = table.set_index("run")
    columns = [_set_and_measure(column) for column in table.columns]
    if any(measure for _, measure in columns):
        table.columns = pandas.MultiIndex.from_tuples(columns)
    return table


def _set_and_measure(column: str) -> tuple[str, str]:
    """("WikiQA", "MAP ±") of "WikiQA MAP ±"; ("parameters_M", "") of what is no measure on a set."""
    for measure in MEASURES:
        for suffix in ("", " ±"):
            if column.endswith(f" {measure}{suffix}"):
                return column.removesuffix(f" {measure}{suffix}"), measure + suffix
    return column, ""


def table(
    scores: pandas.DataFrame,
    systems: "Iterable[System] | Mapping[str, System]",
    published: pandas.DataFrame | None = None,
    study: "Study | None" = None,
) -> pandas.DataFrame:
    """One row a system, index `run`: P@1, MAP, MRR in percent, mean over seeds, each with " ±" (sample standard
    deviation), `seeds`, `parameters`, and "published P@1", "published MAP", "published MRR" where there are any.

    scores: SCORES.  A system without scores has a row of NaN.  published: indexed by run, columns P@1, MAP, MRR.
    study: where parameters come from if `scores` was put together by hand.
    """
    systems = list(systems.values()) if isinstance(systems, Mapping) else list(systems)
    means = by_seed(scores)
    parameters = scores.attrs.get("parameters", {})
    rows = []
    for system in systems:
        values = means.loc[[system.run]] if system.run in means.index else means.iloc[:0]
        row: dict[str, object] = {}
        for metric in METRICS:
            row[metric] = values[metric].mean()
            row[f"{metric} ±"] = values[metric].std(ddof=1) if len(values) > 1 else math.nan
        row["seeds"] = len(values)
        row["parameters"] = parameters.get(system.run)
        if row["parameters"] is None and study is not None:
            row["parameters"] = study.run(system.runs()[0].name).facts.get("parameters")
        rows.append(row)
    index = pandas.Index([system.run for system in systems], name="run")
    columns = [*(name for metric in METRICS for name in (metric, f"{metric} ±")), "seeds", "parameters"]
    result = pandas.DataFrame(rows, index=index, columns=columns)
    result["parameters"] = result["parameters"].astype("Float64").astype("Int64")
    if published is not None:
        theirs = _first_of_each_run(published).reindex([system.run for system in systems])
        for metric in METRICS:
            if metric in theirs and theirs[metric].notna().any():
                result[f"published {metric}"] = theirs[metric].astype(float).to_numpy()
    return result


def by_seed(scores: pandas.DataFrame) -> pandas.DataFrame:
    """One row a system and seed, index the system: the seed, and P@1, MAP, MRR, nDCG@10 in percent."""
    groups = scores.groupby(["system", "seed"], sort=False)[list(MEASURES.values())]
    # fsum: the mean does not depend on the order of the questions, to the last bit
    means = groups.agg(lambda values: 100 * math.fsum(values) / len(values)).set_axis(list(MEASURES), axis=1)
    return means.reset_index("seed")


def mean_and_spread(scores: pandas.DataFrame) -> pandas.DataFrame:
    """One row a system: each metric in percent, mean over its seeds, and " ±", the sample standard deviation."""
    groups = by_seed(scores).drop(columns="seed").groupby(level="system", sort=False)
    means, spreads = groups.mean(), groups.std(ddof=1).add_suffix(" ±")
    return means.join(spreads)[[name for metric in MEASURES for name in (metric, f"{metric} ±")]]


def over_seeds(scores: pandas.DataFrame, system: str, measure: str = "MAP") -> pandas.Series:
    """Each question's mean over the seeds of a system, in [0, 1], index question_id, first seen first."""
    rows = scores[scores["system"] == system]
    if rows.empty:
        raise KeyError(f"no scores of {system!r}; there are {', '.join(scores['system'].unique())}")
    values = rows.groupby("question_id", sort=False)[MEASURES[measure]].mean()
    return values.rename(system)


def compare(
    scores: pandas.DataFrame,
    pairs: Sequence[tuple[str, str]],
    published: pandas.DataFrame | None = None,
    measure: str = "MAP",
    resamples: int = 10_000,
) -> pandas.DataFrame:
    """One row a pair of run names (a, b), difference a − b in points, over questions' means over seeds:

    `difference`, `low`, `high` (95 % interval over questions), `p` (paired permutation of the mean; exact where few
    questions differ), `Wilcoxon p`, `wins`, `losses`, `ties`, and with `published` the paper's difference `published`,
    `zero inside`, `published inside` (booleans) and `verdict` (metrics.significance.verdict).
    """
    from as2lib.metrics import significance  # and scipy with it, which naming a study's notebooks does without

    tests = [
        significance.compare(over_seeds(scores, a, measure), over_seeds(scores, b, measure), resamples=resamples)
        for a, b in pairs
    ]
    return _comparisons(tests, pairs, published, measure)


def pooled(
    scores_by_target: Mapping[str, pandas.DataFrame],
    pairs: Sequence[tuple[str, str]],
    measure: str = "MAP",
    resamples: int = 10_000,
) -> pandas.DataFrame:
    """`compare` over the questions of several targets, stratified by target: each one's questions are drawn anew.

    scores_by_target: target → SCORES.  Raises KeyError where a target has no scores of a system.
    """
    from as2lib.metrics import significance  # and scipy with it, which naming a study's notebooks does without

    tests = []
    for a, b in pairs:
        targets = [
            (over_seeds(scores, a, measure), over_seeds(scores, b, measure)) for scores in scores_by_target.values()
        ]
        tests.append(significance.pooled(targets, resamples=resamples))
    return _comparisons(tests, pairs, None, measure)


def holm(p_values: Sequence[float]) -> Sequence[float]:
    """p values corrected for so many tests (Holm)."""
    from as2lib.metrics import significance  # and scipy with it, which naming a study's notebooks does without

    return significance.holm(p_values)


def _comparisons(
    tests: Sequence["Comparison"],
    pairs: Sequence[tuple[str, str]],
    published: pandas.DataFrame | None,
    measure: str,
) -> pandas.DataFrame:
    from as2lib.metrics import significance  # and scipy with it, which naming a study's notebooks does without

    rows = []
    for test, (a, b) in zip(tests, pairs, strict=True):
        row = {"difference": 100 * test.difference, "low": 100 * test.low, "high": 100 * test.high}
        row |= {"p": test.p, "Wilcoxon p": test.wilcoxon_p}
        row |= {"wins": test.wins, "losses": test.losses, "ties": test.ties}
        row["zero inside"] = bool(row["low"] <= 0 <= row["high"])
        if published is not None:
            theirs = published_difference(published, a, b, measure)
            row["published"] = theirs
            row["published inside"] = None if math.isnan(theirs) else bool(row["low"] <= theirs <= row["high"])
            row["verdict"] = "" if math.isnan(theirs) else significance.verdict(row["low"], row["high"], theirs)
        rows.append(row)
    index = pandas.MultiIndex.from_tuples(list(pairs), names=["a", "b"])
    return pandas.DataFrame(rows, index=index)


def questions_needed(differences: pandas.Series, published: float) -> float:
    """How many questions would decide a comparison: with fewer, its 95 % interval may hold zero and the published.

    differences: one a question, `over_seeds(scores, a) - over_seeds(scores, b)`.  published: a − b, in their units.
    NaN where nothing is published, or a difference of 0.  See `metrics.significance.questions_to_decide`.
    """
    from as2lib.metrics import significance  # and scipy with it, which naming a study's notebooks does without

    undefined = pandas.isna(published) or published == 0
    return math.nan if undefined else significance.questions_to_decide(differences.to_numpy(), published)


def published_difference(published: pandas.DataFrame, a: str, b: str, measure: str = "MAP") -> float:
    """A paper's a − b in points; NaN where it has not both."""
    rows = _first_of_each_run(published)
    if measure not in rows or not {a, b} <= set(rows.index):
        return math.nan
    return float(rows.loc[a, measure]) - float(rows.loc[b, measure])


def _first_of_each_run(published: pandas.DataFrame) -> pandas.DataFrame:
    """A paper's table without the rows that stand for a run a second time, or for none of ours."""
    return published[~published.index.duplicated() & published.index.notna()]
