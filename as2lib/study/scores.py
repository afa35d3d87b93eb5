"""The scores of runs as tables: published ones, a Parquet file a run, and ensembles of others; knows no store.

A published file has the columns split, question_id, position, label; then `log_odds` in float32, or `score` in float64
where it is no P(correct) or its order would turn; and, by the same rule a column, those of heads, exits and the last
weights.  Any pandas reads it.

m pairs of a run's splits together
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
from pyarrow import parquet

from as2lib.metrics.probability import sigmoid
from as2lib.metrics.ranking import summary
from as2lib.models import ensemble as ensembles
from as2lib.paths import file_sha256, whole_file
from as2lib.study.run import Run

Platt = dict[str, dict[str, Any]]  # name of a run → its scaling
PAIR = ["split", "question_id", "position", "label"]


def write_scores(path: Path, tables: Mapping[str, pandas.DataFrame], probabilities: bool) -> None:
    """Leave the scores of a run, split after split, the same bytes whenever they are the same.

    probabilities: whether they are P(correct), kept as log odds.
    """
    whole = pandas.concat([table.assign(split=split) for split, table in tables.items()], ignore_index=True)
    question = whole.groupby(["split", "question_id"], sort=False).ngroup().to_numpy()
    content = whole[PAIR].astype({"question_id": str, "position": "int32", "label": "int8"})
    for name in whole.columns.drop(PAIR):
        scores = whole[name].to_numpy(dtype="float64")
        numbers = log_odds(scores, question) if probabilities else scores
        content["log_odds" if name == "score" and numbers.dtype == "float32" else name] = numbers
    numbers = [*content.columns.drop(PAIR)]
    content = pyarrow.Table.from_pandas(content, preserve_index=False).replace_schema_metadata(None)
    options = {"compression": "zstd", "compression_level": 19, "write_statistics": False, "store_schema": False}
    with whole_file(path) as temporary:
        parquet.write_table(content, temporary, use_dictionary=PAIR, use_byte_stream_split=numbers, **options)


# A split's pairs of a run that was made here: systems of several runs read each of them many times.
read = lru_cache(maxsize=128)(pandas.read_parquet)


@lru_cache(maxsize=128)
def read_scores(path: Path, digest: str, split: str) -> pandas.DataFrame:
    """A split's pairs with `score` and what else there is.  Raises ValueError for a file of another SHA-256."""
    if not path.exists() or file_sha256(path) != digest:
        raise ValueError(f"{path}: not as its index.json says; restore it, or publish its run again")
    table = pandas.read_parquet(path, filters=[("split", "==", split)]).drop(columns="split")
    for name in table.columns.drop(PAIR[1:]):
        if table[name].dtype == "float32":
            table[name] = sigmoid(table[name].to_numpy(dtype="float64"))
    return table.rename(columns={"log_odds": "score"}).dropna(axis="columns", how="all")


def log_odds(probability: numpy.ndarray, question: numpy.ndarray) -> numpy.ndarray:
    """The log odds of probabilities in float32; or what came, where that would turn an order or make a tie, and where a
    number is no probability.

    probability: (m,) float64, nan where there is none.  question: (m,), of which each is an order.
    """
    if not (numpy.nanmin(probability, initial=0.0) >= 0 and numpy.nanmax(probability, initial=0.0) <= 1):
        return probability
    with numpy.errstate(divide="ignore"):
        numbers = (numpy.log(probability) - numpy.log1p(-probability)).astype("float32")
    order = numpy.lexsort((probability, question))
    neighbours = question[order][1:] == question[order][:-1]
    ties = probability[order][1:] == probability[order][:-1]
    step = numpy.diff(sigmoid(numbers.astype("float64"))[order])
    alike = numpy.where(ties, step == 0, step > 0) | ~neighbours | numpy.isnan(step)
    return numbers if alike.all() else probability


# ---------------------------------------------------------------- ensembles


def calibration(child: Run, parents: Sequence[Any]) -> Platt:
    """Platt scaling on dev of what a run is made from, where it asks for that: "platt" of those parents whose scores
    only order candidates, "platt of all" of each.
    """
    wanted = child.spec.get("calibration")
    chosen = [parent for parent in parents if wanted and (wanted == "platt of all" or parent.run.orders_only)]
    dev = {parent.name: parent.scores("dev") for parent in chosen}
    return {
        name: ensembles.fit_platt(table["question_id"], table["label"], table["score"]) for name, table in dev.items()
    }


def fitted(run: Run, members: Sequence[Any]) -> dict[str, Any]:
    """An ensemble's facts: parameters, calibration, and what dev chose: weights, or a logistic regression."""
    parameters = [member.facts.get("parameters") for member in members]
    facts: dict[str, Any] = {} if None in parameters else {"parameters": sum(parameters)}  # of a file nobody knows them
    if platt := calibration(run, members):
        facts["calibration"] = platt
    if run.spec["combine"] == "mean":
        return facts
    dev, scores = members[0].scores("dev"), [_probabilities(member, "dev", platt) for member in members]

    def dev_map(score: numpy.ndarray) -> float:
        return summary(dev["question_id"], dev["label"], score)["MAP"]

    if run.spec["combine"] == "logistic":
        return facts | ensembles.fit_logistic(scores, dev["label"])
    weights = ensembles.tuned_weights(scores, dev_map, run.spec["trials"], run.seed)
    return facts | {"weights": weights, "dev_MAP": dev_map(ensembles.mean(scores, weights))}


def combined(run: Run, facts: dict[str, Any], members: Sequence[Any], split: str) -> pandas.DataFrame:
    """The pairs of a split with an ensemble's `score`, and its `last`, by the last weights of its members, where all
    have these.

    facts: its `weights` and the `calibration` of its members, where it has them: in their order, as another study that
    published it may call them otherwise.
    """
    columns, calibrations = {}, facts.get("calibration", {}).values()
    only_ordering = [member.name for member in members if member.run.orders_only] if calibrations else []
    platt = dict(zip(only_ordering, calibrations, strict=True))
    for column in ("score", "last") if all("last" in member.scores(split) for member in members) else ("score",):
        scores = [_probabilities(member, split, platt, column) for member in members]
        if run.spec["combine"] == "logistic":
            columns[column] = sigmoid(ensembles.weigh(facts, scores))
        else:
            columns[column] = ensembles.mean(scores, facts.get("weights"))
    return members[0].scores(split)[["question_id", "position", "label"]].assign(**columns)


def _probabilities(member: Any, split: str, platt: Platt, column: str = "score") -> numpy.ndarray:
    """A member's P(correct) over a split, (m,), by its `score` or its `last`, calibrated where `platt` says."""
    table = member.scores(split)
    scores = table[column].to_numpy()
    if member.name not in platt:
        return scores
    return ensembles.calibrated_scores(platt[member.name], scores, table["question_id"])
