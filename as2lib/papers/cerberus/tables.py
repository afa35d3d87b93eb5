"""CERBERUS's tables as data frames, and the sentences and captions of notebooks 00 to 03; runs nothing."""

from collections.abc import Sequence

import numpy
import pandas

from as2lib.metrics import ranking
from as2lib.runs.results import METRICS
from as2lib.runs.store import Finished


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
