"""A result beside the published one: data frames of what runs scored; writes nothing and draws nothing."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics import ranking
from as2lib.metrics.significance import compare, holm
from as2lib.runs.store import Finished

if TYPE_CHECKING:
    from as2lib.study import Study

METRICS = ["P@1", "MAP", "MRR"]
TIE_RULE = "equal scores count against the system"


@cache
def published(table: str) -> pandas.DataFrame:
    """One of the papers' tables by its file's name, such as `cerberus_table2`; metrics in percent."""
    paper, _, name = table.partition("_")
    with files("as2lib").joinpath("papers", paper, "published", f"{name}.csv").open(encoding="utf-8") as file:
        return pandas.read_csv(file)


def per_question(runs: Iterable[Finished], metric: str = "AP", split: str = "test", questions: str = "answered"):
    """One column a run (a seed), one row a question: what the tests of difference compare."""
    columns = {run.name: _of_run(run, split, questions)[metric] for run in runs}
    return pandas.DataFrame(columns)


def results(
    study: "Study",
    systems: Sequence[tuple[str, str]],
    split: str = "test",
    questions: str = "answered",
    beside: pandas.DataFrame | None = None,
    dataset: str = "WikiQA",
) -> pandas.DataFrame:
    """One row a system: mean and sample standard deviation over its seeds, in percent.

    systems: (label, run prefix) pairs.  beside: a published table with a `run` column; `dataset` names its columns.
    Columns: row (the published table's), seeds, parameters, P@1, MAP, MRR each with " ±", ties % (questions with a tie
    at the top), and the published P@1, MAP, MRR (missing where the paper has none).
    """
    rows = []
    for label, prefix in systems:
        runs = study.runs(prefix)
        row = {"system": label, "run": prefix}
        if beside is not None and "row" in beside:
            row["row"] = beside.set_index("run")["row"].get(prefix, pandas.NA)
        row |= {"seeds": len(runs), "parameters": runs[0].facts["parameters"]}
        row |= _mean_and_spread(runs, split, questions)
        if beside is not None:
            row |= published_row(beside, prefix, dataset)
            if "parameters_M" in beside:
                millions = beside.set_index("run")["parameters_M"].get(prefix, numpy.nan)
                row["published parameters"] = numpy.nan if pandas.isna(millions) else f"{millions:g} M"
        rows.append(row)
    table = pandas.DataFrame(rows).set_index("system")
    return table.astype({"row": "Int64"}) if "row" in table else table


def published_row(table: pandas.DataFrame, prefix: str, dataset: str) -> dict[str, float]:
    """The published P@1, MAP and MRR on `dataset` beside a run prefix; missing where the paper has none."""
    match = table[table["run"] == prefix]
    columns = {metric: f"{dataset} {metric}" for metric in METRICS}
    return {
        f"published {metric}": float(match[column].iloc[0]) if len(match) and column in match else numpy.nan
        for metric, column in columns.items()
    }


def expected_random(pairs, questions: str = "answered") -> dict[str, float]:
    """The exact expectation of a random order, in percent, with the columns of `results`."""
    from as2lib.models.lexical import expected_random as expectation

    found = expectation(pairs, questions=questions)
    return {name: 100 * found[name] for name in METRICS}


def comparisons(study: "Study", pairs: Sequence[tuple[str, str]], labels: dict[str, str], metric: str = "AP"):
    """Paired tests on the test set, on each question's mean over seeds; one row a pair of run prefixes (a, b).

    Columns as in `compared`.
    """
    prefixes = dict.fromkeys(prefix for pair in pairs for prefix in pair)
    means = {prefix: per_question(study.runs(prefix), metric).mean(axis=1) for prefix in prefixes}
    return compared(study, means, pairs, labels)


def compared(
    study: "Study", means: Mapping[str, pandas.Series], pairs: Sequence[tuple[str, str]], labels: Mapping[str, str]
) -> pandas.DataFrame:
    """Paired tests of systems whose value on each question is known; one row a pair of their names (a, b).

    Columns, in points: difference (a minus b), low, high (95 % bootstrap interval over questions); p (Wilcoxon
    signed-rank, two-sided, Pratt) and p Holm (over these rows); effect (rank-biserial); p equal (TOST within the
    study's margin, Holm over these rows too); won, lost and tied questions.
    """
    settings = study.significance.model_dump(exclude={"alpha"})
    rows = {}
    for a, b in pairs:
        found = compare(means[a], means[b], **settings)
        rows[f"{labels[a]} − {labels[b]}"] = {
            "difference": 100 * found.difference,
            "low": 100 * found.low,
            "high": 100 * found.high,
            "p": found.wilcoxon_p,
            "p Holm": numpy.nan,
            "effect": found.effect,
            "p equal": found.equivalence_p,
            "won": found.wins,
            "lost": found.losses,
            "tied": found.ties,
        }
    table = pandas.DataFrame.from_dict(rows, orient="index").rename_axis("comparison")
    table["p Holm"], table["p equal"] = holm(table["p"].to_numpy()), holm(table["p equal"].to_numpy())
    return table.astype({"won": int, "lost": int, "tied": int})


def reading(study: "Study", name: str, row: pandas.Series) -> str:
    """One comparison as a sentence."""
    size = f"{row['difference']:+.1f} points of MAP (95 % interval {row['low']:+.1f} to {row['high']:+.1f})"
    differs, equals = (row[p] < study.significance.alpha for p in ("p Holm", "p equal"))
    p, q = p_text(row["p Holm"]), p_text(row["p equal"])
    verdict = {
        (True, False): f"a real difference (Wilcoxon, p {p})",
        (True, True): f"a real difference (Wilcoxon, p {p}), but one within the margin (TOST, p {q})",
        (False, True): f"equal within the margin (TOST, p {q})",
        (False, False): f"undecided: not different (Wilcoxon, p {p}), nor shown equal (TOST, p {q})",
    }[bool(differs), bool(equals)]
    return f"{name}: {size}, {verdict}."


def p_text(p: float) -> str:
    """A p value in a sentence or a table."""
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def caption(questions: int, seeds: Sequence[int] = (), published_as: str = "", policy: str = "answered") -> str:
    """The question policy, the tie rule and what the spread is, as every table of results says them."""
    text = f"Test set, {questions:,} questions (policy “{policy}”); {TIE_RULE}. Percent"
    text += f"; mean ± standard deviation over seeds {', '.join(map(str, seeds))}." if seeds else "."
    return text + (f" Published: {published_as}." if published_as else "")


def curves(study: "Study", systems: dict[str, str], value: str, parts: Sequence[str] = ()) -> pandas.DataFrame:
    """What training logged under `value`, one row a point: step, system, seed, part, and the value (dev_… in percent).

    systems: label → run prefix.  parts: names of the entries of a value that is a list, such as one a head.
    """
    rows = []
    for label, prefix in systems.items():
        for run in study.runs(prefix):
            for entry in run.log():
                if value in entry:
                    values = entry[value] if isinstance(entry[value], list) else [entry[value]]
                    names = parts or [""] * len(values)
                    point = {"step": entry["step"], "system": label, "seed": run.name}
                    rows += [point | {"part": name, value: number} for name, number in zip(names, values, strict=True)]
    table = pandas.DataFrame(rows, columns=["step", "system", "seed", "part", value])
    return table.assign(**{value: 100 * table[value]}) if value.startswith("dev_") else table


def heads(runs: Sequence[Finished], labels: Sequence[str], split: str = "test") -> tuple[pandas.DataFrame, float]:
    """Each head as a ranker of its own beside the combined score, and how often two heads disagree.

    Returns (P@1, MAP, MRR in percent by head, means over the runs; percent of answered questions where two heads have
    another top candidate, mean over pairs of heads and runs).
    """
    columns = {label: f"head_{i}" for i, label in enumerate(labels)} | {"combined": "score"}
    measured, disagreements = {label: [] for label in columns}, []
    for run in runs:
        table = run.scores(split)
        table = table[table.groupby("question_id")["label"].transform("max") == 1]
        tops = []
        for label, column in columns.items():
            found = ranking.summary(table["question_id"], table["label"], table[column])
            measured[label].append([100 * found[metric] for metric in METRICS])
            tops.append(ranking.top(table["question_id"], table["label"], table[column]).to_numpy())
        heads_only = tops[:-1]
        disagreements += [(a != b).mean() for i, a in enumerate(heads_only) for b in heads_only[i + 1 :]]
    means = {label: numpy.mean(values, axis=0) for label, values in measured.items()}
    table = pandas.DataFrame.from_dict(means, orient="index", columns=METRICS).rename_axis("head")
    return table, 100 * float(numpy.mean(disagreements))


def combined_heads(runs: Sequence[Finished], split: str = "test") -> pandas.DataFrame:
    """P@1, MAP and MRR in percent of the heads' mean probability and of their mean logit; means over the runs."""
    found: dict[str, list[dict[str, float]]] = {"probability": [], "logit": []}
    for run in runs:
        table = run.scores(split)
        heads = table.filter(like="head_").to_numpy().clip(1e-300, 1 - 1e-16)
        ways = {"probability": heads.mean(axis=1), "logit": (numpy.log(heads) - numpy.log1p(-heads)).mean(axis=1)}
        for way, score in ways.items():
            found[way].append(ranking.summary(table["question_id"], table["label"], score))
    means = {
        way: [100 * numpy.mean([one[metric] for one in measured]) for metric in METRICS]
        for way, measured in found.items()
    }
    return pandas.DataFrame.from_dict(means, orient="index", columns=METRICS).rename_axis("average of")


def confidence(runs: Sequence[Finished]) -> dict[str, float]:
    """How sure a scorer is: percent of its dev and test scores below 0.05, above 0.95, and either; means over runs."""
    shares = []
    for run in runs:
        score = pandas.concat([run.scores("dev"), run.scores("test")])["score"]
        shares.append([100 * (score < 0.05).mean(), 100 * (score > 0.95).mean()])
    low, high = numpy.mean(shares, axis=0)
    return {"below 0.05": low, "above 0.95": high, "near 0 or 1": low + high}


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
