"""What is special to the Cascade Transformer: what a drop ratio does, replayed from the scores of every exit.

MT is one model, SR models in sequence, CT the cascade (`rows.Scheme`).  Trains nothing, draws nothing.
"""

from collections.abc import Mapping, Sequence

import numpy
import pandas

from as2lib.metrics import replay
from as2lib.metrics.cost import cascade_cost, front, sequential_cost
from as2lib.papers import pair_sets, paper_tables
from as2lib.papers.cascade.rows import SHORT, Scheme, schemes, sets, trivial_on
from as2lib.papers.costs import answered_sizes
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


def counts(study: Study) -> pandas.DataFrame:
    """Table 1: answered questions, candidates and correct answers a question, ours before the published ones."""
    rows = []
    for name, splits in sets(study).items():
        for split, parts in splits.model_dump().items():
            rows.append({"set": f"{name} (ours)", "split": split, **pair_sets.counted(study, parts, "answered")})
    counts = pandas.DataFrame(rows, columns=["set", "split", "questions", *pair_sets.RATES])
    printed = paper_tables.printed(study, "cascade", "table1").rename(columns={"dataset": "set"})
    return pandas.concat([counts, printed], ignore_index=True).set_index("set").astype({"questions": "Int64"})


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


def by_depth(study: Study) -> pandas.DataFrame:
    """Table 2: each exit with nothing dropped, and a model of its depth, on each target; last, the paper's others."""
    paper, columns, names = published(study, "table2", schemes(study, "target")), [], {}
    for where in ("target", *study.cascade.targets):
        tables, prefix = scores(study, where), "" if where == "target" else f"{where} "
        measures = ["MAP", "MAP ±", "P@1", "P@1 ±", "MRR", "MRR ±"] if where == "target" else ["MAP", "MRR"]
        measured = means(tables)[[*measures, "seeds"]].add_prefix(prefix)
        of_paper = "WikiQA" if where == "target" else where
        if f"{of_paper} MAP" in paper and len(paper):
            here = {f"{of_paper} {metric}": f"{prefix}published {metric}" for metric in ("MAP", "MRR")}
            measured, names = measured.join(paper[list(here)].rename(columns=here)), names | here
        columns.append(measured)
    printed = paper_tables.printed(study, "cascade", "table2")
    others = printed[printed["kind"] == "other"].set_index("model")[list(names)].rename(columns=names)
    table = pandas.concat([pandas.concat(columns, axis=1), others]).rename_axis("system")
    return table.astype({name: "Int64" for name in table if name.endswith("seeds")})


def by_ratio(study: Study, tables: dict[str, Seeds]) -> pandas.DataFrame:
    """Table 3 on the wide set: P@1, MAP, MRR, nDCG@10 of `tables` and " ±", `by_part`, the cost and the paper's rows.

    cost %: layers computed, in percent more (+) or fewer (−) than by the model of all layers, by the formula;
    floors %: with floor(alpha · m) dropped of m, over the answered questions.
    """
    candidates = answered_sizes(first_of(tables))
    costs, depth = {}, study.cascade.exits[-1]
    for scheme in schemes(study):
        cost = sequential_cost if scheme.method == "SR" else cascade_cost
        exits, alpha = study.cascade.exits if scheme.alpha else [scheme.layers], scheme.alpha or 0.0
        costs[scheme.label] = [100 * (cost(depth, exits, alpha, sizes) - 1) for sizes in (None, candidates)]
    costs = pandas.DataFrame.from_dict(costs, orient="index", columns=["cost %", "floors %"])
    names = {"cost": "published cost %", **{f"ASNQ {metric}": f"published {metric}" for metric in results.MEASURES}}
    names |= {f"GPD {metric}": f"GPD published {metric}" for metric in results.MEASURES}
    paper = published(study, "table3", schemes(study))[list(names)].rename(columns=names).astype(float)
    return means(tables).join(by_part(study, tables)).join(costs).join(paper).rename_axis("system")


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


def answers_dropped(tables: dict[str, Seeds], exits: Sequence[int]) -> pandas.DataFrame:
    """Behind which exit a question's last correct candidate was dropped, or "never": percent of the answered questions
    of all seeds together, a row a system that drops any.  tables: of `scores`.
    """
    places = [*(f"behind layer {layer}" for layer in exits[:-1]), "never"]
    rows = {}
    for label, seeds in tables.items():
        if all("last_exit" in table for table in seeds.values()):
            correct = [table[table["label"] == 1].groupby("question_id") for table in seeds.values()]
            fell = pandas.concat(of_seed["last_exit"].max() for of_seed in correct)
            rows[label] = [100 * (fell == place).mean() for place in range(len(exits))]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=places).rename_axis("system")


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


def chosen(study: Study, points: pandas.DataFrame) -> pandas.DataFrame:
    """For the cost of each uniform ratio: the combination of `grid` within it that is best on dev, and cheapest.

    Index ratios; P@1 and MAP on dev and test; `cost %` as in `grid`.
    """
    rows, exits = [], study.cascade.exits
    names = points.filter(like="alpha_").columns
    ranked = points.sort_values(["P@1", "cost"], ascending=[False, True], kind="stable")
    for alpha in study.cascade.alphas:
        budget = cascade_cost(exits[-1], exits, alpha)
        best = ranked[ranked["cost"] <= budget + 1e-12].iloc[0][names].tolist()
        same = [alpha] * len(names)
        for label, ratios in ((f"{alpha:.0%} at each exit", same), (f"chosen within the cost of {alpha:.0%}", best)):
            row = {"ratios": label, "values": ", ".join(f"{ratio:g}" for ratio in ratios)}
            row["cost %"] = 100 * (cascade_cost(exits[-1], exits, ratios) - 1)
            for split in ("dev", "test"):
                tables = scored(study, Scheme("CT", exits[-1], ratios), "wide", split)
                values = results.mean_and_spread(results.frame({"ratios": tables})).loc["ratios"]
                row |= {f"{split} {metric}": values[metric] for metric in ("P@1", "MAP")}
            rows.append(row)
    return pandas.DataFrame(rows).set_index("ratios")
