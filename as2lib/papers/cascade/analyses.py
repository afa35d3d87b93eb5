"""What is special to the Cascade Transformer: what a drop ratio does, replayed from the scores of every exit.

MT is one model, SR models in sequence, CT the cascade (`rows.Scheme`).  Trains nothing, draws nothing.
"""

from collections.abc import Mapping

import numpy
import pandas

from as2lib.metrics import replay
from as2lib.metrics.cost import front
from as2lib.papers import pair_sets, paper_tables
from as2lib.papers.cascade.rows import SHORT, Scheme, schemes, trivial_on
from as2lib.study import Study, results

Seeds = dict[int, pandas.DataFrame]  # seed → its scored pairs


def scores(study: Study, where: str) -> dict[str, Seeds]:
    """What the rows of a set's table scored on it, by their labels; the trivial baseline first."""
    trivial = trivial_on(study, where)
    tables = {SHORT[trivial.split("/")[1]]: {run.run.number: run.scores() for run in study.runs(trivial)}}
    return tables | {scheme.label: scored(study, scheme, where) for scheme in schemes(study, where)}


def scored(study: Study, scheme: Scheme, where: str, split: str = "test") -> Seeds:
    """question_id, label and the score by which a scheme ranks a set, a table for each seed that all its runs have.

    Where it drops candidates, the score is minus the place, and `last_exit` the place of the last exit that saw the
    candidate, from 0.  (`last` is the score by a fit's last weights, as everywhere.)
    """
    tables, stages = {}, [{run.run.seed: run for run in study.runs(name)} for name in scheme.runs(study, where)]
    for seed in (seed for seed in stages[0] if all(seed in stage for stage in stages)):
        of_seed = [stage[seed].scores(split) for stage in stages]
        table = of_seed[0]
        if not scheme.alpha:
            tables[seed] = table.assign(score=table["score" if scheme.method == "MT" else f"exit_{scheme.layers}"])
            continue
        exits = table.filter(like="exit_") if scheme.method == "CT" else numpy.transpose([t["score"] for t in of_seed])
        replayed = replay.replay(table["question_id"], table["label"], exits, scheme.alpha)
        tables[seed] = table.assign(score=-replayed.position, last_exit=replayed.last)
    return tables


def first_of(tables: Mapping[str, Seeds]) -> pandas.DataFrame:
    """The table of the first row's first seed: its pairs are those of all."""
    return next(iter(next(iter(tables.values())).values()))


def means(tables: dict[str, Seeds]) -> pandas.DataFrame:
    """Each metric of `tables`, mean over seeds in percent, and " ±"; `seeds`."""
    return results.mean_and_spread(results.frame(tables)).assign(seeds=[len(seeds) for seeds in tables.values()])


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


def by_part(study: Study, tables: dict[str, Seeds]) -> pandas.DataFrame:
    """MAP of `tables` on each set whose questions the wide one mixes, a column a set; none where it is one set."""
    questions = results.answered(first_of(tables))["question_id"].unique()
    owners = pair_sets.owners(study, study.wide.test, questions)
    names, columns = owners.unique(), {}
    for name in names if len(names) > 1 else ():
        its = owners.index[owners == name]
        of_set = {
            label: {seed: table[table["question_id"].isin(its)] for seed, table in seeds.items()}
            for label, seeds in tables.items()
        }
        columns[f"MAP of {len(its)} {name} questions"] = means(of_set)["MAP"]
    return pandas.DataFrame(columns, index=[*tables])


def grid(study: Study) -> pandas.DataFrame:
    """Figure 2: every combination of drop ratios of CT on the wide dev set; P@1, mean over seeds, `cost %`, in percent
    more (+) or fewer (−) than the full model's, and `front`, of these means.
    """
    exits, grids = study.cascade.exits, []
    for run in study.runs("cascade/wide"):
        table = run.scores("dev")
        by_exit = table.filter(like="exit_").to_numpy()
        grids.append(replay.grid(table["question_id"], table["label"], by_exit, exits[-1], exits, study.cascade.grid))
    cost, accuracy = grids[0]["cost"], 100 * numpy.mean([points["P@1"] for points in grids], axis=0)
    return grids[0].assign(**{"P@1": accuracy, "cost %": 100 * (cost - 1), "front": front(cost, accuracy)})
