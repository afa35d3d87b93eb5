"""A result beside the published one: a tidy frame of what systems scored, a table and paired tests over it.

Writes nothing and draws nothing.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.data.sources import SHORT, split_part
from as2lib.metrics import ranking
from as2lib.metrics.significance import compare as paired_tests
from as2lib.metrics.significance import holm, interval_over_seeds
from as2lib.runs.run import System
from as2lib.runs.wording import begin, p_text, signed, some, span

if TYPE_CHECKING:
    from as2lib.study import Study

MEASURES = {"P@1": "P@1", "MAP": "AP", "MRR": "RR", "nDCG@10": "nDCG@10"}  # a mean, and what it is the mean of
METRICS = ["P@1", "MAP", "MRR"]  # those of most tables
CLIPPED = "Gradients are clipped at a norm of 1.0 here."
LIKELY = 0.05  # p below which a difference that is not proven is called likely, where its interval leaves zero out
TIE_RULE = "equal scores count against the system"
# What the papers call the sets that they use, by our names.
PAPERS_SETS = {"asnq": "ASNQ", "ias2": "IAS2", "wikiqa": "WikiQA", "gpd": "GPD", "trecqa": "TREC-QA"}
PAPERS_SETS |= {"squad-sent": "SQuAD-sent", "nq-la": "NQ-LA", "selqa": "SelQA"}
Scored = Mapping[Hashable, Sequence[pandas.DataFrame]]  # system → its scored pairs, a table a seed


@cache
def published(table: str) -> pandas.DataFrame:
    """One of the papers' tables by its paper and file, such as `cerberus_table2`; metrics in percent."""
    paper, _, name = table.partition("_")
    with files("as2lib").joinpath("papers", paper, "published", f"{name}.csv").open(encoding="utf-8") as file:
        return pandas.read_csv(file)


def published_set(study: "Study") -> str:
    """The set whose published numbers stand beside a study's: that of its target, WikiQA where no paper has that."""
    return PAPERS_SETS.get(set_of(study.data.target.test[0]), "WikiQA")


def set_of(part: str) -> str:
    """Our short name of the known set that a part belongs to; of any other its source."""
    source = split_part(part)[0].partition("@")[0]
    return SHORT.get(source, source)


def scored(study: "Study", prefixes: Iterable[str]) -> dict[str, list[pandas.DataFrame]]:
    """What the runs below each prefix scored on the test set, a table a seed."""
    return {prefix: [run.scores("test") for run in study.runs(prefix)] for prefix in prefixes}


def frame(scores: Scored) -> pandas.DataFrame:
    """One row a system, seed, question and metric: columns system, seed, question_id, metric (its mean's name), value.

    scores: system → tables with question_id, label and score.  seed: a table's place, from 0.  Values lie in [0, 1].
    """
    found = []
    for system, tables in scores.items():
        for seed, table in enumerate(tables):
            values = ranking.per_question(table["question_id"], table["label"], table["score"])
            long = values.set_axis(list(MEASURES), axis=1).melt(ignore_index=False, var_name="metric")
            found.append(long.reset_index().assign(seed=seed, system=[system] * len(long)))
    return pandas.concat(found, ignore_index=True)[["system", "seed", "question_id", "metric", "value"]]


def by_question(results: pandas.DataFrame, metric: str = "MAP") -> dict[Hashable, pandas.DataFrame]:
    """System → its values of one metric: a row a question, first seen first, and a column a seed."""
    one = results[results["metric"] == metric]
    return {
        system: rows.pivot_table("value", "question_id", "seed").reindex(rows["question_id"].unique())
        for system, rows in one.groupby("system", sort=False)
    }


def mean_and_spread(results: pandas.DataFrame) -> pandas.DataFrame:
    """A row a system: each metric in percent, mean over its seeds, and " ±", the sample standard deviation."""
    by_seed = results.groupby(["system", "metric", "seed"], sort=False)["value"]
    percent = (100 * by_seed.agg(lambda values: math.fsum(values) / len(values))).reset_index()
    wide = percent.pivot_table("value", ["system", "seed"], "metric", sort=False)
    return over_seeds(wide[list(MEASURES)], "system")


def over_seeds(values: pandas.DataFrame, by: Hashable) -> pandas.DataFrame:
    """The mean of each column over the rows of one `by`, and beside it " ±", their sample standard deviation."""
    groups = values.groupby(by, sort=False)
    means, spreads = groups.agg(lambda column: column.to_numpy().mean()), groups.agg(_deviation)
    return means.join(spreads.add_suffix(" ±"))[[name for metric in values for name in (metric, f"{metric} ±")]]


def _deviation(values: pandas.Series) -> float:
    return values.to_numpy().std(ddof=1) if len(values) > 1 else numpy.nan


def table(
    study: "Study",
    systems: Sequence[System],
    beside: pandas.DataFrame | None = None,
    dataset: str = "WikiQA",
    also: str = "",
) -> pandas.DataFrame:
    """One row a system: mean and sample standard deviation over its seeds on the test set, in percent.

    beside: a published table with a `run` column; `dataset` names its columns.
    also: another of its sets, whose numbers stand behind under its name.
    Columns: row (the published table's), seeds, parameters, P@1, MAP, MRR each with " ±", ties % (questions with a tie
    at the top), and the published P@1, MAP, MRR (missing where the paper has none).
    """
    scores, rows = scored(study, [system.prefix for system in systems]), []
    means = mean_and_spread(frame(scores))
    for system in systems:
        runs = study.runs(system.prefix)
        row = {"system": system.label, "run": system.prefix, "seeds": len(runs)}
        row["parameters"] = runs[0].facts["parameters"]
        row |= {name: means.loc[system.prefix, name] for metric in METRICS for name in (metric, f"{metric} ±")}
        columns = [(one["question_id"], one["label"], one["score"]) for one in scores[system.prefix]]
        row["ties %"] = 100 * float(numpy.mean([ranking.top_ties(*three) for three in columns]))
        rows.append(row | {"questions": len(ranking.per_question(*columns[0]))})
    found = pandas.DataFrame(rows).set_index("system")
    if beside is None:
        return found
    theirs = beside.drop_duplicates("run").set_index("run").reindex(found["run"]).set_axis(found.index)
    if "row" in theirs:
        found.insert(1, "row", theirs["row"].astype("Int64"))
    parts = [found, published_values(theirs, dataset)]
    parts += [published_parameters(theirs)] if "parameters_M" in theirs else []
    parts += [published_values(theirs, also, f"published {also}")] * (also not in ("", dataset))
    return pandas.concat(parts, axis=1)


def published_row(table: pandas.DataFrame, prefix: str, dataset: str) -> dict[str, float]:
    """The published P@1, MAP and MRR on `dataset` beside a run prefix; missing where the paper has none."""
    row = table.drop_duplicates("run").set_index("run").reindex([prefix])
    return published_values(row, dataset).iloc[0].to_dict()


def published_values(rows: pandas.DataFrame, dataset: str, called: str = "published") -> pandas.DataFrame:
    """The P@1, MAP and MRR of a published table's rows on `dataset`, as ours are named; missing where it has none."""
    names = {f"{dataset} {metric}": f"{called} {metric}" for metric in METRICS}
    return rows.reindex(columns=[*names]).astype(float).rename(columns=names)


def published_parameters(rows: pandas.DataFrame) -> pandas.Series:
    return rows["parameters_M"].map("{:g} M".format, na_action="ignore").rename("published parameters")


def compare(
    study: "Study",
    scores: Scored,
    pairs: Sequence[tuple[Hashable, Hashable]],
    metric: str = "MAP",
    draw_seeds: bool = False,
) -> pandas.DataFrame:
    """Paired tests on each question's mean over seeds; one row a pair of systems, index (a, b), each pair once.

    Columns, in points: difference (a minus b), low, high (95 % bootstrap interval over questions; with `draw_seeds`
    over questions and seeds, where there are several); p (Wilcoxon signed-rank, two-sided, Pratt); effect
    (rank-biserial); ρ and p ρ (Spearman); p equal (TOST within the study's margin); won, lost and tied questions.
    p Holm, p ρ Holm and p equal are corrected over these pairs.
    """
    settings, pairs = study.significance.model_dump(exclude={"alpha"}), list(dict.fromkeys(pairs))
    values = by_question(frame({name: scores[name] for pair in pairs for name in pair}), metric)
    rows = []
    for a, b in pairs:
        found = paired_tests(values[a].mean(axis=1), values[b].mean(axis=1), **settings)
        low, high = found.low, found.high
        if draw_seeds and max(values[a].shape[1], values[b].shape[1]) > 1:
            low, high = interval_over_seeds(values[a], values[b], study.significance.resamples)
        row = {"difference": 100 * found.difference, "low": 100 * low, "high": 100 * high}
        row |= {"p": found.wilcoxon_p, "p Holm": numpy.nan, "effect": found.effect, "ρ": found.spearman}
        row |= {"p ρ": found.spearman_p, "p ρ Holm": numpy.nan, "p equal": found.equivalence_p}
        rows.append(row | {"won": found.wins, "lost": found.losses, "tied": found.ties})
    found = pandas.DataFrame(rows, index=pandas.MultiIndex.from_tuples(pairs, names=["a", "b"]))
    for raw, corrected in (("p", "p Holm"), ("p ρ", "p ρ Holm"), ("p equal", "p equal")):
        found[corrected] = holm(found[raw].to_numpy())
    return found


def tests_caption(study: "Study") -> str:
    """How to read a table of `compare`."""
    return (
        "Points of MAP, test set, answered questions; 95 % bootstrap interval over questions (low, high); p: "
        f"Wilcoxon (Pratt); p equal: TOST, margin {100 * study.significance.margin:g} points; p Holm and p equal are "
        "corrected over these rows (00_overview: over the claims that a notebook tests together, so that a pair may be "
        f"undecided on one page alone); effect: rank-biserial. {note_on_intervals(study)}"
    )


def labelled(tests: pandas.DataFrame, labels: Mapping[Hashable, str]) -> pandas.DataFrame:
    """What `compare` found, called "A − B", without Spearman's test."""
    names = [f"{labels[a]} − {labels[b]}" for a, b in tests.index]
    return tests.drop(columns=["ρ", "p ρ", "p ρ Holm"]).set_axis(names).rename_axis("comparison")


def reading(study: "Study", name: str, row: pandas.Series) -> str:
    """One comparison as a sentence; where its interval and the corrected test say different things, it says why."""
    size = f"{signed(row['difference'])} points of MAP (95 % interval {span(row['low'], row['high'])})"
    return f"{name}: {size}, {verdict(study, row)}."


def verdict(study: "Study", row: pandas.Series) -> str:
    """What the tests of a row of `compare` say, as the end of a sentence."""
    alpha, p, q = study.significance.alpha, p_text(row["p Holm"]), p_text(row["p equal"])
    differs, equals = bool(row["p Holm"] < alpha), bool(row["p equal"] < alpha)
    apart = bool(row["low"] > 0 or row["high"] < 0)
    if differs:
        if apart:
            return f"a real difference (Wilcoxon, {p})" + f", but within the margin (TOST, {q})" * equals
        means = f"are equal within the margin (TOST, {q})" if equals else "may be equal: their interval has zero in it"
        return f"a real difference in ranks (Wilcoxon, {p}), but the means {means}"
    if equals:
        return f"equal within the margin (TOST, {q})" + (", though the interval leaves zero out" if apart else "")
    if apart:
        found = "likely a difference, not a proven one" if row["p Holm"] < LIKELY else "undecided"
        return (
            f"{found} (the interval, of this comparison alone, leaves zero out; "
            f"Wilcoxon's test, corrected for all comparisons, has {p}, and only p < {alpha:g} counts)"
        )
    return f"undecided (not shown different: Wilcoxon, {p}; not shown equal: TOST, {q})"


def sentence_ends(study: "Study", prefixes: Iterable[str]) -> str:
    """Whether budgets were too short for the fits of these prefixes; ensembles among them are left out."""
    runs = [run for prefix in prefixes for run in study.runs(prefix)]
    fits = [(run.facts, run.run.spec["training"]) for run in runs if run.facts.get("best_step")]
    if not fits:
        return "Fits kept their last weights: none was evaluated on dev."
    whole = sum(given.get("steps") in (None, facts["steps"]) for facts, given in fits)
    # an evaluation at the end may follow the last regular one by a few steps
    last = sum(facts["best_step"] >= facts["steps"] - facts["steps"] % given["evaluate_every"] for facts, given in fits)
    return (
        f"{begin(some(whole, len(fits), 'fits'))} took every step of their budget; best on dev at the last regular "
        f"evaluation or after it, where more steps may add: {some(last, len(fits))}."
    )


def note_on_intervals(study: "Study") -> str:
    """Why an interval may leave zero out where the test beside it does not count."""
    return (
        "An interval is of one comparison, at 95 %; p Holm is of the ranks, corrected for all comparisons, and counts "
        f"below {study.significance.alpha:g}: so an interval may leave zero out where no difference is proven."
    )


def caption(questions: int, seeds: Sequence[int] = (), published_as: str = "") -> str:
    """The question policy, the tie rule and what the spread is, as every table of results says them."""
    text = f"Test set, {questions:,} questions (policy “answered”); {TIE_RULE}. Percent"
    several = "mean ± standard deviation over seeds " if len(seeds) > 1 else "seed "
    text += f"; {several}{', '.join(map(str, seeds))}." if seeds else "."
    return text + (f" Published: {published_as}." if published_as else "")


def curves(study: "Study", systems: dict[str, str], value: str, parts: Sequence[str] = ()) -> pandas.DataFrame:
    """What training logged under `value`, one row a point: step, system, seed, part, and the value (dev_… in percent).

    systems: label → run prefix.  parts: names of the entries of a value that is a list, such as one a head.
    """
    rows = [
        {"step": entry["step"], "system": label, "seed": run.name, "part": [*parts] or "", value: entry[value]}
        for label, prefix in systems.items()
        for run in study.runs(prefix)
        for entry in run.log()
        if value in entry
    ]
    columns = ["step", "system", "seed", "part", value]
    table = pandas.DataFrame(rows, columns=columns).explode(["part", value], ignore_index=True).astype({value: float})
    return table.assign(**{value: 100 * table[value]}) if value.startswith("dev_") else table
