"""What is special to the Cascade Transformer: what a drop ratio does, replayed from the scores of every exit.

MT is one model, SR models in sequence, CT the cascade (`rows.Scheme`).  Trains nothing, draws nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from timeit import timeit
from typing import TYPE_CHECKING, Any

import numpy
import pandas

from as2lib.metrics import replay
from as2lib.metrics.cost import cascade_cost, sequential_cost, survivors
from as2lib.papers import pair_sets, paper_tables
from as2lib.papers.cascade.rows import PAPER_EXITS, SHORT, Scheme, recipes, schemes, sets, trivial_on
from as2lib.study import results

if TYPE_CHECKING:
    import torch

    from as2lib.study import Study
    from as2lib.study.store import StoredRun

METRICS = ["P@1", "MAP", "MRR", "nDCG@10"]
Tables = Mapping[str, list[pandas.DataFrame]]  # label → scored pairs, a table a seed


def scores(study: "Study", where: str) -> Tables:
    """What the rows of a set's table scored on it; the trivial baseline first."""
    trivial = trivial_on(study, where)
    tables = {SHORT[trivial.split("/")[1]]: [run.scores() for run in study.runs(trivial)]}
    return tables | {scheme.label: scored(study, scheme, where) for scheme in schemes(study, where)}


def scored(study: "Study", scheme: Scheme, where: str, split: str = "test") -> list[pandas.DataFrame]:
    """question_id, label and the score by which a scheme ranks a set, a table a seed.

    Where it drops candidates, the score is minus the place, and `last` the last exit that saw the candidate, from 0.
    """
    tables = []
    for runs in zip(*(study.runs(name) for name in scheme.runs(study, where)), strict=True):  # of a seed
        of_seed = [run.scores(split) for run in runs]
        table = of_seed[0]
        if not scheme.alpha:
            tables.append(table.assign(score=table["score" if scheme.method == "MT" else f"exit_{scheme.layers}"]))
            continue
        exits = table.filter(like="exit_") if scheme.method == "CT" else numpy.transpose([t["score"] for t in of_seed])
        replayed = replay.replay(table["question_id"], table["label"], exits, scheme.alpha)
        tables.append(table.assign(score=-replayed.position, last=replayed.last))
    return tables


def counts(study: "Study") -> pandas.DataFrame:
    """Table 1: answered questions, candidates and correct answers a question, ours before the published ones.

    Where the texts are not here, dev and test are counted in stored scores, and train is missing.
    """
    rows = []
    for name, splits in sets(study).items():
        for split, parts in splits.model_dump().items():
            pairs = pair_sets.pairs_of(study, parts) if parts else None
            row = {"set": f"{name} (ours)", "split": split}
            if pairs is not None:
                labels = pairs.select_columns(["question_id", "label"])
                row |= pair_sets.statistics(labels).loc["answered", ["questions", *pair_sets.RATES]]
            rows.append(row)
    printed = paper_tables.printed(study, "cascade", "table1").rename(columns={"dataset": "set"})
    table = pandas.concat([pandas.DataFrame(rows), printed], ignore_index=True).set_index("set")
    return table.astype({"questions": "Int64"})


def beside(ours: Sequence[Scheme], paper: pandas.DataFrame) -> pandas.DataFrame:
    """A paper's rows under our labels: those of the same alpha, and the full depth beside the full depth, and so on.

    paper: columns method and alpha, in the order of depth.
    """
    rows = {}
    for method, printed in paper.groupby("method"):
        of_method = [scheme for scheme in ours if scheme.method == method]
        depths = [scheme.label for scheme in of_method if not scheme.alpha]
        undropped = printed.index[printed["alpha"].fillna(0) == 0]
        rows |= dict(zip(reversed(depths), reversed(undropped), strict=False))
        of_alpha = {alpha: row for row, alpha in printed["alpha"].items()}
        rows |= {
            scheme.label: of_alpha[scheme.alpha] for scheme in of_method if scheme.alpha and scheme.alpha in of_alpha
        }
    return paper.loc[list(rows.values())].set_axis(list(rows))


def on_targets(study: "Study") -> pandas.DataFrame:
    """Table 2, index the label: each exit with nothing dropped, and a model of its depth.

    MAP, P@1 and MRR in percent on the target, MAP and MRR on each further set, and what the paper printed of each.  The
    paper's other systems come last, with published numbers alone.
    """
    paper = paper_tables.printed(study, "cascade", "table2").assign(alpha=numpy.nan)
    paper["method"] = paper["kind"].map({"monolith": "MT", "cascade": "CT"})
    others = paper[paper["kind"] == "other"].set_index("model")
    printed = pandas.concat([beside(schemes(study, "target"), paper), others])
    columns = []
    for where in ("target", *study.cascade.targets):
        tables, dataset = scores(study, where), "WikiQA" if where == "target" else where
        ours, theirs = results.mean_and_spread(results.frame(tables)), pandas.DataFrame(index=printed.index)
        if f"{dataset} MAP" in paper:
            theirs = printed[[f"{dataset} MAP", f"{dataset} MRR"]].set_axis(["published MAP", "published MRR"], axis=1)
        if where == "target":
            columns += [ours[["MAP", "MAP ±", "P@1", "P@1 ±", "MRR", "MRR ±"]], theirs]
            columns[0].insert(0, "seeds", [len(seeds) for seeds in tables.values()])
        else:
            columns += [ours[["MAP", "MRR"]].add_prefix(f"{where} "), theirs.add_prefix(f"{where} ")]
    return pandas.concat(columns, axis=1).rename_axis("system")


def by_ratio(study: "Study", tables: Tables) -> pandas.DataFrame:
    """Table 3 on the wide set: P@1, MAP, MRR, nDCG@10 of `tables`, beside the cost and the paper's rows.

    cost %: layers computed, by the formula, against the model of all layers.  floors %: with floor(alpha · m) dropped
    of m, over the answered questions.
    """
    labels = next(iter(tables.values()))[0].groupby("question_id", sort=False)["label"]
    costs = relative_costs(study, labels.size()[labels.max() > 0].to_numpy())
    table = results.mean_and_spread(results.frame(tables))[METRICS].join(costs)
    names = {"cost": "published cost %", **{f"ASNQ {metric}": f"published {metric}" for metric in METRICS}}
    names |= {f"GPD {metric}": f"GPD published {metric}" for metric in METRICS}
    paper = beside(schemes(study), paper_tables.printed(study, "cascade", "table3"))
    return table.join(paper[list(names)].rename(columns=names).astype(float)).rename_axis("system")


def relative_costs(study: "Study", candidates: Sequence[int]) -> pandas.DataFrame:
    """Layers computed, in percent more (+) or fewer (−) than by the full model: by the formula, and by exact floors."""
    rows, depth = {}, study.cascade.exits[-1]
    for scheme in schemes(study):
        cost = sequential_cost if scheme.method == "SR" else cascade_cost
        exits, alpha = study.cascade.exits if scheme.alpha else [scheme.layers], scheme.alpha or 0.0
        rows[scheme.label] = [100 * (cost(depth, exits, alpha, sizes) - 1) for sizes in (None, candidates)]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=["cost %", "floors %"])


def grid(study: "Study") -> pandas.DataFrame:
    """Figure 2: every combination of drop ratios of CT on the wide dev set; `cost %`, and P@1, mean over seeds."""
    exits, grids = study.cascade.exits, []
    for run in study.runs("cascade/wide"):
        table = run.scores("dev")
        scores = table.filter(like="exit_").to_numpy()
        grids.append(replay.grid(table["question_id"], table["label"], scores, exits[-1], exits, study.cascade.grid))
    accuracy = numpy.mean([points["P@1"] for points in grids], axis=0)
    return grids[0].assign(**{"P@1": 100 * accuracy, "cost %": 100 * grids[0]["cost"]})


def uniform(points: pandas.DataFrame, alphas: Sequence[float]) -> pandas.DataFrame:
    """The points of a grid with one of these ratios at every exit, each with a `label`."""
    ratios = points.filter(like="alpha_")
    same = points[ratios.eq(ratios["alpha_1"], axis=0).all(axis=1) & ratios["alpha_1"].isin(alphas)]
    return same.assign(label=[f"{alpha:.0%} at every exit" for alpha in same["alpha_1"]])


def chosen(study: "Study", points: pandas.DataFrame) -> pandas.DataFrame:
    """For the cost of each uniform ratio, the combination of `grid` that is best on dev within it.

    Columns: budget %, ratios, values, cost %, and P@1 and MAP on dev and test; costs relative to the full model's.
    """
    rows, exits = [], study.cascade.exits
    names = points.filter(like="alpha_").columns
    for alpha in study.cascade.alphas:
        budget = cascade_cost(exits[-1], exits, alpha)
        best = replay.choose(points, budget)[names].tolist()
        for label, ratios in (("the same at each exit", [alpha] * len(names)), ("chosen on dev", best)):
            row = {"budget %": 100 * (budget - 1), "ratios": label, "values": ", ".join(f"{r:g}" for r in ratios)}
            row["cost %"] = 100 * (cascade_cost(exits[-1], exits, ratios) - 1)
            for split in ("dev", "test"):
                tables = scored(study, Scheme("CT", exits[-1], ratios), "wide", split)
                values = results.mean_and_spread(results.frame({"ratios": tables})).loc["ratios"]
                row |= {f"{split} {metric}": values[metric] for metric in ("P@1", "MAP")}
            rows.append(row)
    return pandas.DataFrame(rows)


def answers_dropped(study: "Study", tables: Tables) -> pandas.DataFrame:
    """Behind which exit the last correct candidate fell, in percent of the answered questions of all seeds together."""
    rows, exits = {}, study.cascade.exits
    for label, seeds in tables.items():
        if "last" in seeds[0]:
            fell = pandas.concat(table[table["label"] == 1].groupby("question_id")["last"].max() for table in seeds)
            rows[label] = [100 * (fell == place).mean() for place in range(len(exits))]
    columns = [*(f"behind layer {n}" for n in exits[:-1]), "never"]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("system")


def by_recipe(study: "Study") -> pandas.DataFrame:
    """MAP of each exit on the wide test set, percent, one seed, for CT as the paper trains it and for other ways."""
    rows = {}
    for recipe in recipes(study):
        table = study.runs(f"{recipe.name}/wide")[0].scores()
        ends = {f"layer {n}": [table.assign(score=table[f"exit_{n}"])] for n in study.cascade.exits}
        rows[recipe.label] = results.mean_and_spread(results.frame(ends))["MAP"]
    table = pandas.DataFrame(rows).T
    return table.assign(mean=table.mean(axis=1)).rename_axis("training")


def average_batches(study: "Study") -> pandas.DataFrame:
    """The batch that a layer sees on average in the paper's example (section 4.3.2), with its exits and with ours."""
    paper, rows = paper_tables.printed(study, "cascade", "batches").set_index("quantity")["value"], {}
    if len(paper):
        start, limit = (int(paper[name]) for name in ("candidates of the example", "largest batch that fits"))
        alpha = paper["alpha of the example"]
        for label, exits in (("the paper's exits", PAPER_EXITS), ("the study's exits", study.cascade.exits)):
            average = start * cascade_cost(exits[-1], exits, alpha, start)
            left = ", ".join(map(str, survivors(len(exits), alpha, start)))
            rows[label] = [left, average, 100 * (start / limit - 1)]
        rows["published"] = [None, paper["average batch"], paper["more throughput (%)"]]
    columns = ["candidates left", "average batch", "throughput %"]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("cascade")


# ---------------------------------------------------------------- counted and timed


def models_measured(study: "Study") -> list[str]:
    """The names of one run of the cascade, and of each model of one depth, on the wide set."""
    systems = ["cascade/wide", *(f"monolith/{n}/wide" for n in study.cascade.exits)]
    return [study.store.of_system(system)[0] for system in systems]


def measure(study: "Study", questions: int = 3, rounds: int = 3) -> dict[str, Any] | None:
    """What each row of Table 3 takes over the first wide test questions; None without texts or tokenizer.

    Models have random weights, on which what is counted does not depend.

    `work`: columns "M operations a question" (multiply-adds), which any machine counts alike, "ms a question", the
    median over `rounds` with the systems taking turns, and each relative to the model of all layers.  `sizes`:
    candidates of these questions.
    """
    import torch

    from as2lib.metrics.cost import multiply_adds
    from as2lib.score import on_threads

    runs = [study.run(name) for name in models_measured(study)]
    try:
        batches = question_batches(study, runs[0], questions)
    except OSError:  # no texts, or no tokenizer
        return None
    models = [model_of(run) for run in runs]
    calls = {scheme.label: _call(study, scheme, models, batches) for scheme in schemes(study)}
    with on_threads(study.threads), torch.inference_mode():
        operations = pandas.Series({name: multiply_adds(call) for name, call in calls.items()})
        turns = [{name: timeit(call, number=1) for name, call in calls.items()} for _ in range(rounds)]
    seconds, full = pandas.DataFrame(turns).median(), Scheme("MT", study.cascade.exits[-1]).label
    columns = {
        "M operations a question": operations / questions / 1e6,
        "operations %": 100 * (operations / operations[full] - 1),
        "ms a question": 1000 * seconds / questions,
        "time %": 100 * (seconds / seconds[full] - 1),
    }
    return {"work": pandas.DataFrame(columns).to_dict(), "sizes": [len(batch["input_ids"]) for batch in batches]}


def work(study: "Study", measured: dict[str, Any] | None) -> pandas.DataFrame:
    """What `measure` counted and timed, index system, beside the formula's costs; without rows where it did nothing."""
    names = ["M operations a question", "operations %", "ms a question", "time %"]
    if measured is None:
        return pandas.DataFrame(columns=[*names, "cost %", "floors %"]).rename_axis("system")
    table = pandas.DataFrame(measured["work"], columns=names).rename_axis("system")
    return table.join(relative_costs(study, measured["sizes"]))


def model_of(run: "StoredRun") -> "torch.nn.Module":
    """A model of a run's sizes, with random weights."""
    from as2lib.models import cross_encoder
    from as2lib.models.cascade import CascadeTransformer

    model, shape = cross_encoder.build(run.facts["encoder"]), run.run.spec.get("cascade")
    return (CascadeTransformer.from_backbone(model, **shape) if shape else model).eval()


def question_batches(study: "Study", run: "StoredRun", questions: int) -> "list[dict[str, torch.Tensor]]":
    """The first questions of the wide test set, one a batch, as a run's encoder reads them, or the one it started from.

    Raises FileNotFoundError where neither is here, or the texts are not.
    """
    from as2lib.data import load_parts
    from as2lib.data.encode import PairEncoder, load_encoder
    from as2lib.data.pretrained import require_at_hand
    from as2lib.models import cross_encoder

    first = next(iter(run.run.ancestors()), run.run)
    name = first.spec["backbone"].get("name")
    if run.model_folder:
        encoder = load_encoder(run.model_folder)
    elif name:
        require_at_hand(name)
        encoder = PairEncoder(cross_encoder.tokenizer(name), run.run.spec["max_length"])
    else:
        raise FileNotFoundError(f"{run.name}: expected its folder, which has the words that its encoder knows")
    pairs = load_parts(tuple(study.wide.test), "answered")
    ids, items = numpy.asarray(pairs["question_id"]), encoder.encode(pairs)
    first_ids = pandas.unique(ids)[:questions]
    return [encoder.collate([items[int(row)] for row in numpy.flatnonzero(ids == question)]) for question in first_ids]


def _call(study: "Study", scheme: Scheme, models: list[Any], batches: list[dict[str, Any]]) -> Callable[[], list[Any]]:
    """Ranks every batch as the scheme does.  models: of `models_measured`."""
    from as2lib.models.sequential import SequentialReranker

    (whole, *members), place, alpha = models, study.cascade.exits.index(scheme.layers), scheme.alpha
    if scheme.method == "MT":
        return lambda: [members[place](**batch) for batch in batches]
    if scheme.method == "SR":
        margins = [lambda batch, model=model: model(**batch).logits.diff(dim=1)[:, 0] for model in members]
        sequence = SequentialReranker(margins)
        return lambda: [sequence.rank(batch, alpha) for batch in batches]
    if alpha:
        return lambda: [whole.rank(batch, alpha) for batch in batches]
    return lambda: [whole(**batch, only_exit=place) for batch in batches]
