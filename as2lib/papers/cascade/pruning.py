"""Tables of the Cascade Transformer: every model, exit and drop ratio from stored scores; trains and draws nothing.

"wide" is the set with many candidates, "target" the target set; MT a monolithic model, SR such models in sequence, CT
the cascade.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
import pandas

from as2lib.metrics import cascade, ranking
from as2lib.metrics.cost import cascade_cost, sequential_cost
from as2lib.runs.results import published

if TYPE_CHECKING:
    from as2lib.study import Study

METRICS = ["P@1", "MAP", "MRR", "nDCG@10"]


class System(NamedTuple):
    """method: MT, SR or CT.  layers: of the model, or of the exit that has the last word.  alpha: None for MT."""

    method: str
    layers: int
    alpha: float | None = None

    def __str__(self) -> str:
        what = {"MT": f"MT of {count(self.layers)}", "SR": "SR", "CT": f"CT to layer {self.layers}"}[self.method]
        return what if self.alpha is None else f"{what}, alpha {self.alpha:g}"


def count(layers: int) -> str:
    """The number of layers in words, as in "MT of 1 layer"."""
    return f"{layers} layer{'s' * (layers != 1)}"


def systems(study: "Study") -> list[System]:
    """The rows of Table 3."""
    exits, alphas = study.cascade.exits, study.cascade.alphas
    rows = [System("MT", layers) for layers in exits]
    rows += [System("SR", exits[-1], alpha) for alpha in alphas]
    rows += [System("CT", layers, 0.0) for layers in exits]
    return rows + [System("CT", exits[-1], alpha) for alpha in alphas]


def exit_scores(study: "Study", method: str, which: str, split: str = "test", seed: int = 0) -> pandas.DataFrame:
    """The scores of every exit of CT, or of every model of SR, over a set: question_id, label, `exit_<layers>` …

    seed: place in the list of the runs' seeds.
    """
    if method == "CT":
        table = study.runs(f"cascade/{which}")[seed].scores(split)
        return table[["question_id", "label", *_columns(study)]]
    members = {f"exit_{n}": study.runs(f"monolith/{n}/{which}")[seed].scores(split) for n in study.cascade.exits}
    first = next(iter(members.values()))[["question_id", "label"]]
    return first.assign(**{name: table["score"] for name, table in members.items()})


def ranked(
    study: "Study", system: System, which: str, split: str = "test", alpha: Sequence[float] | None = None
) -> list[pandas.DataFrame]:
    """question_id, label and a score to rank by, one table a seed.  alpha: other ratios than the system's."""
    if system.method == "MT":
        return [run.scores(split) for run in study.runs(f"monolith/{system.layers}/{which}")]
    seeds = len(study.runs(f"cascade/{which}")) if system.method == "CT" else 1
    found = []
    for seed in range(seeds):
        table = exit_scores(study, system.method, which, split, seed)
        if alpha is None and system.alpha == 0:
            score = table[f"exit_{system.layers}"]
        else:
            score = -cascade.replay(
                table["question_id"], table[_columns(study)].to_numpy(), system.alpha if alpha is None else alpha
            ).position
        found.append(table.assign(score=score))
    return found


def measured(tables: Sequence[pandas.DataFrame]) -> dict[str, float]:
    """P@1, MAP, MRR and nDCG@10 in percent, means over seeds, each with its sample standard deviation as " ±"."""
    found = [ranking.summary(table["question_id"], table["label"], table["score"]) for table in tables]
    row = {}
    for metric in METRICS:
        values = 100 * numpy.array([one[metric] for one in found])
        row |= {metric: values.mean(), f"{metric} ±": values.std(ddof=1) if len(values) > 1 else numpy.nan}
    return row


def relative_cost(study: "Study", system: System, candidates: Sequence[int] | None = None) -> float:
    """Layers computed, in percent more (+) or fewer (−) than by the full model; with `candidates` by exact floors."""
    exits = study.cascade.exits
    if system.method == "MT" or not system.alpha:
        cost = cascade_cost(exits[-1], [system.layers], 0.0)
    else:
        formula = sequential_cost if system.method == "SR" else cascade_cost
        cost = formula(exits[-1], exits, system.alpha, candidates)
    return 100 * (cost - 1)


def statistics(study: "Study") -> pandas.DataFrame:
    """Table 1: answered questions, candidates and correct answers a question, ours before the published ones."""
    from as2lib.data.pairs import load_parts

    rows = []
    for name, pairs in (("wide", study.wide), ("target", study.data.target)):
        for split, parts in pairs.model_dump().items():
            label = load_parts(tuple(parts), "answered").to_pandas().groupby("question_id", sort=False)["label"]
            means = {"candidates a question": label.size().mean(), "correct a question": label.sum().mean()}
            rows.append({"dataset": f"{name} (ours)", "split": split, "questions": len(label), **means})
    return pandas.concat([pandas.DataFrame(rows), published("cascade_table1")], ignore_index=True)


def by_depth(study: "Study") -> pandas.DataFrame:
    """Table 2: on the target set, each exit at alpha 0 beside an independent model of its depth and the published rows.

    Published rows of models that we do not train are kept; others stand beside the row of the same place, counted from
    the full depth.
    """
    paper, rows = published("cascade_table2"), []
    trivial = study.run("lexical/overlap_then_rank")
    rows.append({"system": "WO+RR (trivial baseline)", **_row([trivial.scores()], 1)})
    for _, other in paper[paper["kind"] == "other"].iterrows():
        rows.append({"system": f"{other['model']}, not trained here", **_beside(other)})
    for method, kind in (("MT", "monolith"), ("CT", "cascade")):
        places = _places(study, paper[paper["kind"] == kind])
        for layers, other in places:
            row = {"system": f"{method} of {int(other['layers'])} layers, published only"} if layers is None else {}
            if layers is not None:
                found = ranked(study, System(method, layers, 0.0 if method == "CT" else None), "target")
                name = f"MT of {count(layers)}" if method == "MT" else f"CT, exit at layer {layers}"
                row = {"system": name, **_row(found, len(found))}
            rows.append(row | (_beside(other) if other is not None else {}))
    return pandas.DataFrame(rows).set_index("system").astype({"seeds": "Int64"})


def by_ratio(study: "Study") -> pandas.DataFrame:
    """Table 3: on the wide set, MT, SR and CT with their analytic cost, beside the published rows of ASNQ and GPD."""
    paper, rows = published("cascade_table3"), []
    rows.append({"system": "WO+RR (trivial baseline)", **_plain(measured([study.run(TRIVIAL).scores()]))})
    for method in ("MT", "SR", "CT"):
        own = [system for system in systems(study) if system.method == method]
        theirs = paper[paper["method"] == method]
        whole = theirs["alpha"].fillna(0) == 0
        places = _places(study, theirs[whole]) if whole.any() else []
        beside = {layers: other for layers, other in places if layers is not None}
        for _, other in places:
            if not any(other is match for match in beside.values()) and other is not None:
                name = System(method, int(other["layers"]), other["alpha"] if method == "CT" else None)
                rows.append({"system": f"{name}, published only", **_costs(other)})
        for system in own:
            other = beside.get(system.layers)
            if system.alpha:
                match = theirs[theirs["alpha"] == system.alpha]
                other = match.iloc[0] if len(match) else None
            row = {"system": str(system), **_plain(measured(ranked(study, system, "wide")))}
            row["cost %"] = relative_cost(study, system)
            rows.append(row | (_costs(other) if other is not None else {}))
    table = pandas.DataFrame(rows).set_index("system")
    costs = ["cost %", "published cost %"]
    return table[[*METRICS, *costs, *(name for name in table if name not in (*METRICS, *costs))]]


def trained_otherwise(study: "Study", ablations: Sequence[str]) -> pandas.DataFrame:
    """MAP of each exit on the wide test set, in percent, for CT as the paper trains it and for each other way."""
    rows = {}
    for name in ("", *ablations):
        table = study.run(f"cascade{'-' * bool(name)}{name}/wide/seed-0").scores("test")
        found = [ranking.summary(table["question_id"], table["label"], table[c])["MAP"] for c in _columns(study)]
        rows[WAYS[name]] = [100 * value for value in found]
    table = pandas.DataFrame.from_dict(rows, orient="index", columns=[f"layer {n}" for n in study.cascade.exits])
    return table.assign(mean=table.mean(axis=1)).rename_axis("training")


def pruned(study: "Study") -> pandas.DataFrame:
    """Behind which exit the last correct candidate fell, in percent of the answered questions of the wide test set."""
    rows, exits = {}, study.cascade.exits
    for system in systems(study):
        if not system.alpha:
            continue
        table = exit_scores(study, system.method, "wide")
        last = cascade.replay(table["question_id"], table[_columns(study)].to_numpy(), system.alpha).last
        correct = table.assign(last=last)[table["label"] == 1]
        fell = correct.groupby("question_id", sort=False)["last"].max()
        shares = {f"behind layer {n}": 100 * (fell == i).mean() for i, n in enumerate(exits[:-1])}
        rows[str(system)] = shares | {"never": 100 * (fell == len(exits) - 1).mean()}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("system")


def grid(study: "Study", split: str) -> pandas.DataFrame:
    """Every combination of drop ratios of CT on a split of the wide set; P@1 and `cost %` in percent."""
    table, exits = exit_scores(study, "CT", "wide", split), study.cascade.exits
    scores = table[_columns(study)].to_numpy()
    found = cascade.grid(table["question_id"], table["label"], scores, exits[-1], exits, study.cascade.grid)
    return found.assign(**{"P@1": 100 * found["P@1"], "cost %": 100 * found["cost"]})


def uniform(points: pandas.DataFrame, alphas: Sequence[float]) -> pandas.DataFrame:
    """The points of a grid with one of these ratios at every exit, each with a `label`."""
    ratios = points.filter(like="alpha_")
    found = points[ratios.eq(ratios["alpha_1"], axis=0).all(axis=1) & ratios["alpha_1"].isin(alphas)]
    return found.assign(label=[f"alpha {alpha:g} at every exit" for alpha in found["alpha_1"]])


def counted(study: "Study", work: pandas.DataFrame, candidates: Sequence[int]) -> pandas.DataFrame:
    """The operations that `measuring.measure` counted, beside the cost by formula and by exact floors."""
    by_name = {str(system): system for system in systems(study)}
    costs = {
        "formula %": [relative_cost(study, by_name[name]) for name in work.index],
        "floors %": [relative_cost(study, by_name[name], candidates) for name in work.index],
    }
    return pandas.DataFrame(costs, index=work.index).join(work[["FLOPs %", "FLOPs a question (M)"]])


def chosen(study: "Study", points: pandas.DataFrame) -> pandas.DataFrame:
    """For the cost of each uniform ratio, the combination that is best on dev within it; both on dev and test.

    points: `grid` on dev.  Columns: budget %, ratios, values, cost %, and P@1 and MAP on dev and test; costs relative
    to the full model's, − for saved.
    """
    rows, full = [], study.cascade.exits[-1]
    names = [name for name in points if name.startswith("alpha_")]
    for alpha in study.cascade.alphas:
        budget = cascade_cost(full, study.cascade.exits, alpha)
        picked = [float(value) for value in cascade.choose(points, budget)[names]]
        for label, ratios in (("the same at each exit", [alpha] * len(names)), ("picked on dev", picked)):
            cost = cascade_cost(full, study.cascade.exits, ratios)
            row = {"budget %": 100 * (budget - 1), "ratios": label, "values": ", ".join(f"{r:g}" for r in ratios)}
            row["cost %"] = 100 * (cost - 1)
            for split in ("dev", "test"):
                found = measured(ranked(study, System("CT", full, alpha), "wide", split, ratios))
                row |= {f"{split} {metric}": found[metric] for metric in ("P@1", "MAP")}
            rows.append(row)
    return pandas.DataFrame(rows)


def average_batch(exits: Sequence[int], alpha: float, candidates: int) -> float:
    """The batch that a layer sees on average: what bounds memory where each layer's batch is freed (section 4.3.2)."""
    return candidates * cascade_cost(exits[-1], exits, alpha, candidates)


def per_question(study: "Study", system: System, metric: str = "AP", split: str = "test") -> pandas.Series:
    """A measure on each question of the wide set, first seed."""
    table = ranked(study, system, "wide", split)[0]
    return ranking.per_question(table["question_id"], table["label"], table["score"])[metric]


PAPER_EXITS = (4, 6, 8, 10, 12)
TRIVIAL = "wide/overlap_then_rank"
WAYS = {
    "": "as the paper: exits drawn uniformly, gradient to the embeddings, mean of tokens",
    "round_robin": "exits in turn",
    "early": "early exits more often at first",
    "stopped": "gradient stopped at the previous exit",
    "first": "first token instead of the mean",
}


def _columns(study: "Study") -> list[str]:
    return [f"exit_{layers}" for layers in study.cascade.exits]


def _places(study: "Study", paper: pandas.DataFrame) -> list[tuple[int | None, pandas.Series | None]]:
    """Our depths beside the paper's rows, both counted from the full depth; None where one side has no more."""
    ours, theirs = list(study.cascade.exits), [row for _, row in paper.iterrows()]
    missing = len(theirs) - len(ours)
    return list(zip([None] * missing + ours, [None] * -missing + theirs, strict=True))


def _row(tables: Sequence[pandas.DataFrame], seeds: int) -> dict[str, float]:
    return {"seeds": seeds, **measured(tables)}


def _plain(row: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if not name.endswith(" ±")}


def _beside(row: pandas.Series) -> dict[str, float]:
    names = ("WikiQA MAP", "WikiQA MRR", "TREC-QA MAP", "TREC-QA MRR")
    return {f"published {name}": row[name] for name in names}


def _costs(row: pandas.Series) -> dict[str, float]:
    names = ("ASNQ P@1", "ASNQ MAP", "GPD P@1", "GPD MAP")
    return {"published cost %": row["cost"], **{f"published {name}": row[name] for name in names}}
