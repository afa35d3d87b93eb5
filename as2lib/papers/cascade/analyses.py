"""What is special to the Cascade Transformer: what a drop ratio does, replayed from the scores of every exit.

MT is one model, SR models in sequence, CT the cascade (`rows.Scheme`).  Trains nothing, draws nothing.
"""

import numpy
import pandas

from as2lib.metrics import pruning
from as2lib.papers import pair_sets, paper_tables
from as2lib.papers.cascade.rows import Scheme
from as2lib.study import Study
from as2lib.study.store import StoredRun

Seeds = dict[int, pandas.DataFrame]  # seed → its scored pairs


def clean(study: Study, where: str, run: StoredRun, split: str = "test") -> pandas.DataFrame:
    """What a run scored; on the published wide test set without the questions whose answer its training set has too."""
    table, parts = run.scores(split), (" ".join(study.wide.train), " ".join(study.wide.test))
    learnt = pair_sets.learnt_in_published().get(parts, ()) if (where, split) == ("wide", "test") else ()
    return table[~table["question_id"].isin(learnt)].reset_index(drop=True)


def scored(study: Study, scheme: Scheme, where: str, split: str = "test") -> Seeds:
    """question_id, label and the score by which a scheme ranks a set, a table for each seed that all its runs have.

    Where it drops candidates, the score is minus the place, and `last_exit` the place of the last exit that saw the
    candidate, from 0.  (`last` is the score by a fit's last weights, as everywhere.)
    """
    tables, stages = {}, [{run.run.seed: run for run in study.runs(name)} for name in scheme.runs(study, where)]
    for seed in (seed for seed in stages[0] if all(seed in stage for stage in stages)):
        of_seed = [clean(study, where, stage[seed], split) for stage in stages]
        table = of_seed[0]
        if not scheme.alpha:
            tables[seed] = table.assign(score=table["score" if scheme.method == "MT" else f"exit_{scheme.layers}"])
            continue
        exits = table.filter(like="exit_") if scheme.method == "CT" else numpy.transpose([t["score"] for t in of_seed])
        position, last = pruning.replay(table["question_id"], table["label"], exits, scheme.alpha)
        tables[seed] = table.assign(score=-position, last_exit=last)
    return tables


def published(study: Study, name: str, rows: list[Scheme]) -> pandas.DataFrame:
    """The paper's "table2" or "table3" by our labels: at the same ratio, as deep a model, counted from the deepest."""
    paper = paper_tables.printed(study, "cascade", name)
    if name == "table2":
        paper = paper.assign(method=paper["kind"].map({"monolith": "MT", "cascade": "CT"}), alpha=0.0)
    table = pandas.DataFrame(rows)[["method", "alpha"]].assign(system=[scheme.label for scheme in rows])
    sides = []
    for side in (table, paper):
        side = side.assign(alpha=side["alpha"].astype(float).fillna(0.0))
        sides.append(side.assign(deepest=side.groupby(["method", "alpha"]).cumcount(ascending=False)))
    return sides[0].merge(sides[1], on=["method", "alpha", "deepest"]).set_index("system")
