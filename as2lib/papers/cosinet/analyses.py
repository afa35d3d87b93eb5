"""What is special to the Cosinet paper: the sets it counts, and a cheap ranker before an expensive one."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics.ranking import summary
from as2lib.papers import paper_tables

if TYPE_CHECKING:
    from as2lib.study import Study

KEPT = (1, 2, 3, 4, 5, 7, 10, 15)  # candidates that a first ranker leaves to the second


def rerank(first: pandas.DataFrame, second: pandas.DataFrame, keep: int) -> numpy.ndarray:
    """The first ranker's `keep` best candidates in the second's order, then the others in the first's own: (n,) scores.

    first, second: question_id, position, and a score within [0, 1].  Equal scores of the first keep the input's order.
    Raises ValueError where the rows differ.
    """
    if not first[["question_id", "position"]].equals(second[["question_id", "position"]]):
        raise ValueError(f"expected scores of the same pairs, got {len(first)} and {len(second)} other rows")
    rank = first.groupby("question_id", sort=False)["score"].rank(method="first", ascending=False)
    return numpy.where(rank <= keep, 1 + second["score"], first["score"]).astype(float)


def two_stages(
    first: Sequence[pandas.DataFrame], second: Sequence[pandas.DataFrame], relative_cost: float
) -> pandas.DataFrame:
    """One row a number of candidates kept (the index): P@1, MAP, MRR in percent, means over all pairs of seeds.

    first, second: scores, a table a seed.  relative_cost: multiply-adds of the first for a candidate, over those of the
    second.  `candidates left %`: that the second ranks; `cost %`: of both, of the second's for all candidates.
    """
    groups = first[0].groupby("question_id", sort=False)["label"]
    sizes = groups.size()[groups.max() > 0]
    rows = {}
    for keep in [*(keep for keep in KEPT if keep < sizes.max()), int(sizes.max())]:
        values = [
            summary(cheap["question_id"], cheap["label"], rerank(cheap, dear, keep))
            for cheap, dear in product(first, second)
        ]
        left = sizes.clip(upper=keep).sum() / sizes.sum()
        means = 100 * pandas.DataFrame(values)[["P@1", "MAP", "MRR"]].mean()
        rows[keep] = {**means, "candidates left %": 100 * left, "cost %": 100 * (relative_cost + left)}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("kept")


def published_systems(study: "Study", table: str) -> pandas.DataFrame:
    """Published results of others, "table3", "table5" or "table6", index the system; nothing here is ours."""
    return paper_tables.printed(study, "cosinet", table).drop(columns="run").set_index("system")
