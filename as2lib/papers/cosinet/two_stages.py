"""A cheap ranker before an expensive one: accuracy and cost from stored scores; runs no model.

n candidates of a question · m of them kept
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics.ranking import summary
from as2lib.runs.estimate import encoder_weights
from as2lib.runs.store import Store

if TYPE_CHECKING:
    from as2lib.study import Study


def rerank(first: pandas.DataFrame, second: pandas.DataFrame, keep: int) -> numpy.ndarray:
    """Scores of the two in a row: the first's `keep` best candidates in the second's order, then the others in its own.

    first, second: question_id, position, score (P(correct), within [0, 1]), the same rows.  Equal scores of the first
    keep the input's order.  Returns one float64 a row: 1 + the second's score for a survivor, the first's for others.
    Raises ValueError where the rows differ.
    """
    same = first["question_id"].equals(second["question_id"]) and first["position"].equals(second["position"])
    if not same:
        raise ValueError(f"expected scores of the same pairs, got {len(first)} and {len(second)} other rows")
    rank = first.groupby("question_id", sort=False)["score"].rank(method="first", ascending=False)
    return numpy.where(rank <= keep, 1 + second["score"], first["score"]).astype(float)


def curve(
    study: "Study", pairs: pandas.DataFrame, first: str, second: str, keeps: Sequence[int], first_cost: float
) -> pandas.DataFrame:
    """One row a number kept: MAP, MRR and P@1 in percent (mean over seeds), and the cost of a question.

    pairs: of the test set, for the lengths.  first, second: run prefixes; seed by seed.
    first_cost: see `relative_cost`.  cost %: multiplications, of those that the second needs for every candidate.
    """
    runs = list(zip(study.runs(first), study.runs(second), strict=False))
    size = pairs.groupby("question_id", sort=False).size()
    rows = []
    for keep in keeps:
        found = []
        for a, b in runs:
            table = a.scores("test")
            found.append(summary(table["question_id"], table["label"], rerank(table, b.scores("test"), keep)))
        kept = size.clip(upper=keep).sum() / size.sum()
        row = {metric: 100 * numpy.mean([one[metric] for one in found]) for metric in ("P@1", "MAP", "MRR")}
        rows.append({"kept": keep, **row, "candidates left %": 100 * kept, "cost %": 100 * (first_cost + kept)})
    return pandas.DataFrame(rows).set_index("kept")


def relative_cost(study: "Study", pairs: pandas.DataFrame, second: str) -> float:
    """Cosinet's multiplications for all candidates over those of the multiple-heads student `second`.

    Cosinet convolves a question's words once for all its candidates; the student reads question and candidate together
    with each candidate. A word counts as a token; attention's products and what a pair costs once are left out.
    """
    settings = study.cosinet
    words = {name: pairs[name].str.split().str.len() for name in ("question", "answer")}
    once = words["question"].groupby(pairs["question_id"], sort=False).first().sum()
    cosinet = 5 * (settings.vectors.dimensions + 1) * settings.hidden * (once + words["answer"].sum())
    store = Store(study)
    run = store.planned(f"{second}/seed-{study.seeds[0]}")
    depth = study.mhs.body + run.spec["mhs"]["heads"]
    layer = encoder_weights(store, run) / (study.mhs.body + 1)
    return float(cosinet / (layer * depth * (words["question"] + words["answer"] + 3).sum()))
