"""Tables and sentences of the Cascade Transformer, from stored scores; trains and draws nothing.

"wide" is the set with many candidates, "target" the target set; MT, SR and CT as `Scheme` says.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics import cascade
from as2lib.metrics.cost import cascade_cost, sequential_cost
from as2lib.papers.cascade.systems import TRIVIAL_LABEL, Scheme, recipes, schemes, sentences_budgets, sets, trivial_on
from as2lib.papers.cerberus.sets import RATES
from as2lib.papers.cerberus.sets import statistics as statistics_of
from as2lib.runs import results
from as2lib.runs.results import MEASURES, Scored, compare, frame, labelled, mean_and_spread, published, published_set
from as2lib.runs.texts import missing, pairs_of
from as2lib.runs.wording import apart, begin, number, percent_apart, signed, some

if TYPE_CHECKING:
    from as2lib.study import Study


def statistics(study: "Study") -> pandas.DataFrame:
    """Table 1: answered questions, candidates and correct answers a question, ours before the published ones.

    Ours are missing for a set whose texts are not here, and which nothing published was scored on.
    """
    rows = []
    for name, of in sets(study).items():
        for split, parts in of.model_dump().items():
            row = {"dataset": f"{name} (ours)", "split": split}
            if pairs := pairs_of(study, parts):
                counts = statistics_of(pairs.select_columns(["question_id", "label"])).loc["answered"]
                row |= counts[["questions", *RATES]]
            rows.append(row)
    table = pandas.concat([pandas.DataFrame(rows), published("cascade_table1")], ignore_index=True)
    return table.astype({"questions": "Int64"})


def sentence_texts(study: "Study") -> str:
    """Which texts of these sets are not here; empty where all are."""
    return missing(part for of in sets(study).values() for parts in of.model_dump().values() for part in parts)


def sentence_candidates(wide: float, target: float) -> str:
    return f"A question of the wide test set has {number(wide)} candidates, one of the target set {number(target)}."


def scores(study: "Study", where: str) -> dict[str, list[pandas.DataFrame]]:
    """What the rows of the table of a set scored on it, by their labels, a table a seed; the trivial baseline first."""
    trivial = {TRIVIAL_LABEL: [study.run(trivial_on(where)).scores()]}
    return trivial | {str(row): scored(study, row, where) for row in schemes(study, where)}


def scored(study: "Study", scheme: Scheme, where: str, split: str = "test") -> list[pandas.DataFrame]:
    """question_id, label and the score by which a scheme ranks a set, a table a seed.

    Where it drops candidates, the score is minus the place, and `last` the last exit that saw the candidate, from 0.
    """
    found, runs = [], zip(*map(study.runs, scheme.prefixes(study, where)), strict=True)  # a tuple a seed
    for tables in ([run.scores(split) for run in of_seed] for of_seed in runs):
        table = tables[0]
        if not scheme.alpha:
            found.append(table.assign(score=table["score" if scheme.method == "MT" else f"exit_{scheme.layers}"]))
            continue
        exits = table.filter(like="exit_") if scheme.method == "CT" else numpy.transpose([t["score"] for t in tables])
        replayed = cascade.replay(table["question_id"], exits, scheme.alpha)
        found.append(table.assign(score=-replayed.position, last=replayed.last))
    return found


def by_depth(study: "Study") -> pandas.DataFrame:
    """Table 2: each exit at alpha 0, a model of its depth, every published row; of further targets MAP and MRR."""
    found = scores(study, "target")
    ours = mean_and_spread(frame(found))
    ours.insert(0, "seeds", pandas.Series({label: len(tables) for label, tables in found.items()}, dtype="Int64"))
    for name in study.cascade.targets:
        further = mean_and_spread(frame(scores(study, name)))[["MAP", "MRR"]]
        ours = ours.join(further.add_prefix(f"{name} "))
    paper = dict(list(published("cascade_table2").groupby("kind")))
    labels, n = [str(row) for row in schemes(study, "target")], len(study.cascade.exits)
    theirs = [
        paper["other"].set_index(paper["other"]["model"] + ", not trained here"),
        _by_place(paper["monolith"], labels[:n], "MT of {} layers"),
        _by_place(paper["cascade"], labels[n:], "CT of {} layers"),
    ]
    sets = sorted(("WikiQA", "TREC-QA"), key=lambda name: name != published_set(study))  # the target's own first
    measures = [f"{name} {metric}" for name in sets for metric in ("MAP", "MRR")]
    return _beside(ours, theirs, measures)


def sentences_by_depth(study: "Study", by_depth: pandas.DataFrame) -> list[str]:
    """On the target set, and on each further one."""
    said, exits = sentences_budgets(study), study.cascade.exits
    rows = [[str(Scheme(method, n)) for method in ("MT", "CT")] for n in exits]
    for where, column in [("At", "MAP"), *((f"On {name}, at", f"{name} MAP") for name in study.cascade.targets)]:
        found = by_depth[column]
        gaps = [found[end] - found[model] for model, end in rows]
        listed = ", ".join(f"{signed(gap)} (layer {n})" for n, gap in zip(exits, gaps, strict=True))
        lost = _not_learnt(found, [row for method in zip(*rows, strict=True) for row in method])
        said.append(
            f"{where} the full depth the cascade is {apart(gaps[-1], 'the independent model')}; its exits minus "
            f"models of their own depth, in points of MAP: {listed}{lost and f'; {lost}'}."
        )
    return said


def sentence_first_steps(study: "Study") -> str:
    """Whether the fits on the wide set had steps enough."""
    fits = [*(f"monolith/{n}/wide" for n in study.cascade.exits), "cascade/wide"]
    return f"First steps, on the wide set: {results.sentence_ends(study, fits)}"


def by_ratio(study: "Study", scores: Scored) -> pandas.DataFrame:
    """Table 3: `scores` on the wide set measured, beside the published rows of ASNQ and GPD.

    cost %: the analytic cost, as published.  floors %: that of floor(alpha · m) dropped of m, over answered questions.
    """
    paper, theirs = published("cascade_table3").rename(columns={"cost": "cost %"}), []
    for method, label in (("MT", "MT of {} layers"), ("SR", ""), ("CT", "CT to layer {}, alpha 0")):
        own = [scheme for scheme in schemes(study) if scheme.method == method]
        alphas = {scheme.alpha: str(scheme) for scheme in own if scheme.alpha}
        rows = paper[paper["method"] == method]
        whole = rows["alpha"].fillna(0) == 0
        theirs.append(_by_place(rows[whole], [str(scheme) for scheme in own if not scheme.alpha], label))
        theirs.append(rows[~whole].set_index("alpha").reindex(list(alphas)).set_axis(list(alphas.values())))
    labels = scores[TRIVIAL_LABEL][0].groupby("question_id", sort=False)["label"]
    sizes = labels.size()[labels.max() > 0].to_numpy()
    costs = relative_costs(study, sizes).rename(columns={"formula %": "cost %"})
    ours = mean_and_spread(frame(scores))[list(MEASURES)].join(costs)
    pairs = ("P@1", "MAP"), ("MRR", "nDCG@10")
    return _beside(ours, theirs, ["cost %", *(f"{name} {m}" for ms in pairs for name in ("ASNQ", "GPD") for m in ms)])


def relative_costs(study: "Study", candidates: Sequence[int]) -> pandas.DataFrame:
    """Layers computed, in percent more (+) or fewer (−) than by the full model: by the formula, and by exact floors."""
    rows, depth = {}, study.cascade.exits[-1]
    for row in schemes(study):
        cost = sequential_cost if row.method == "SR" else cascade_cost
        exits, alpha = study.cascade.exits if row.alpha else [row.layers], row.alpha or 0.0
        rows[str(row)] = [100 * (cost(depth, exits, alpha, sizes) - 1) for sizes in (None, candidates)]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=["formula %", "floors %"])


def sentences_by_ratio(study: "Study", by_ratio: pandas.DataFrame) -> list[str]:
    """What each drop ratio saves and costs; then the models and exits below the trivial baseline, which drop, too."""
    said, full = [], study.cascade.exits[-1]
    whole = by_ratio.loc[str(Scheme("CT", full, 0.0)), "P@1"]
    ends = [str(Scheme(*one)) for n in study.cascade.exits for one in (("MT", n), ("CT", n, 0.0))]
    for alpha in study.cascade.alphas:
        row = by_ratio.loc[str(Scheme("CT", full, alpha))]
        gap = apart(row["P@1"] - whole, "ranking every candidate to the end", "P@1")
        said.append(f"At alpha {alpha:g} the cascade computes {_saved(row)} and is {gap}.")
    if worse := _not_learnt(by_ratio["MAP"], ends):
        said.append(f"{begin(worse)}; SR drops by such models, the cascade by such exits.")
    return said


def _saved(row: pandas.Series) -> str:
    by_formula = f"{signed(row['cost %'], 0)} % by the formula, which has no floors"
    return f"{percent_apart(row['floors %'], 'the full model')} ({by_formula})"


def _not_learnt(maps: pandas.Series, labels: Iterable[str]) -> str:
    """Which of some rows are below the trivial baseline, by the MAP of all; empty where none is."""
    floor = maps[TRIVIAL_LABEL]
    found = ", ".join(f"{label} ({number(maps[label])})" for label in labels if maps.get(label, floor) < floor)
    return f"below the trivial baseline (MAP {number(floor)}), and so not learnt: {found}" if found else ""


def answer(study: "Study", by_ratio: pandas.DataFrame, rivals: pandas.DataFrame) -> str:
    """by_ratio, rivals: from the functions of these names."""
    alpha, full = study.cascade.alphas[0], study.cascade.exits[-1]
    own, found = str(Scheme("CT", full, alpha)), []
    whole, plain = str(Scheme("CT", full, 0.0)), str(Scheme("MT", full))
    for rival, other in ((whole, "ranking every candidate to the end"), (plain, "the model without exits")):
        row = rivals.loc[f"{own} − {rival}"]
        found.append(f"{apart(row['difference'], other)}: {results.verdict(study, row)}")
    found += filter(None, [_not_learnt(by_ratio["MAP"], (own, whole, plain))])
    return f"At alpha {alpha:g} the cascade computes {_saved(by_ratio.loc[own])} and is {'; '.join(found)}."


def against_rivals(study: "Study", scores: Scored) -> pandas.DataFrame:
    """Paired tests between `scores` on the wide set of the full model, and of CT and SR at the first drop ratio."""
    full, alpha = study.cascade.exits[-1], study.cascade.alphas[0]
    rows = Scheme("MT", full), Scheme("SR", full, alpha), Scheme("CT", full, 0.0), Scheme("CT", full, alpha)
    mt, sr, ct, pruning = map(str, rows)
    tests = compare(study, scores, [(ct, mt), (pruning, ct), (pruning, mt), (pruning, sr)])
    return labelled(tests, {label: label for label in scores})


def sentences_rivals(study: "Study", by_ratio: pandas.DataFrame, rivals: pandas.DataFrame) -> list[str]:
    """Each comparison, and whether one of its two has not learnt.  by_ratio, rivals: from those functions."""
    said = []
    for name, row in rivals.iterrows():
        lost = _not_learnt(by_ratio["MAP"], name.split(" − "))
        said.append(f"{results.reading(study, name, row).removesuffix('.')}{lost and f'; but {lost}'}.")
    return said


def counted(study: "Study", work: pandas.DataFrame, candidates: Sequence[int]) -> pandas.DataFrame:
    """The operations that `measuring.measure` counted, beside the cost by formula and by exact floors."""
    counts = work[["FLOPs %", "FLOPs a question (M)"]]
    return relative_costs(study, candidates).join(counts).rename_axis("system")


def sentence_counted(alpha: float, pruning: pandas.Series, questions: int) -> str:
    return (
        f"Beside the full model, over the first {questions} questions at alpha {alpha:g}, the formula says "
        f"{signed(pruning['formula %'], 0)} % for the cascade, exact floors {signed(pruning['floors %'], 0)} %, "
        f"counted operations {signed(pruning['FLOPs %'], 0)} %."
    )


def pruned(study: "Study", scores: Scored) -> pandas.DataFrame:
    """Behind which exit the last correct candidate fell, in percent of the answered questions of `scores`."""
    rows, exits = {}, study.cascade.exits
    for label, (table,) in scores.items():
        if "last" in table:
            fell = table[table["label"] == 1].groupby("question_id")["last"].max()
            rows[label] = [100 * (fell == place).mean() for place in range(len(exits))]
    columns = [*(f"behind layer {n}" for n in exits[:-1]), "never"]
    return pandas.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("system")


def sentence_pruned(study: "Study", pruned: pandas.DataFrame) -> str:
    full, low, high = study.cascade.exits[-1], study.cascade.alphas[0], study.cascade.alphas[-1]
    ct, sr = ([100 - pruned.loc[str(Scheme(m, full, a)), "never"] for a in (low, high)] for m in ("CT", "SR"))
    return (
        f"At alpha {low:g} the cascade drops every correct candidate of {number(ct[0])} % of the questions, at "
        f"alpha {high:g} of {number(ct[1])} %; the sequence of independent models drops those of {number(sr[0])} and "
        f"{number(sr[1])} %."
    )


def by_recipe(study: "Study") -> pandas.DataFrame:
    """MAP of each exit on the wide test set, in percent, for CT as the paper trains it and for each other way."""
    rows = {}
    for recipe in recipes(study).values():
        found = study.run(f"{recipe.prefix}/wide/seed-0").scores()
        ends = {f"layer {n}": [found.assign(score=found[f"exit_{n}"])] for n in study.cascade.exits}
        rows[recipe.label] = mean_and_spread(frame(ends))["MAP"]
    table = pandas.DataFrame(rows).T
    return table.assign(mean=table.mean(axis=1)).rename_axis("training")


def sentence_by_recipe(by_recipe: pandas.DataFrame) -> str:
    gaps = (by_recipe["mean"].iloc[1:] - by_recipe["mean"].iloc[0]).sort_values()
    if gaps.empty:
        return "No other way of training was tried."
    listed = ", ".join(f"{label} {signed(gap)}" for label, gap in gaps.items())
    worse = f"other ways of training that lose to the paper's are {some((gaps < 0).sum(), len(gaps))}"
    return f"Over all exits, {worse} (points of MAP against the paper's): {listed}."


def _by_place(theirs: pandas.DataFrame, ours: list[str], label: str) -> pandas.DataFrame:
    """Published rows under our labels, the full depth beside the full depth; those we have none for under their own."""
    spare = theirs["layers"].head(max(len(theirs) - len(ours), 0)).astype(int)
    labels = [*(f"{label.format(layers)}, published only" for layers in spare), *ours]
    return theirs.set_axis(labels[len(labels) - len(theirs) :]).reindex(labels)


def _beside(ours: pandas.DataFrame, theirs: list[pandas.DataFrame], measures: list[str]) -> pandas.DataFrame:
    """The trivial baseline, then the published rows in their order, each with what we measured under its label."""
    beside = pandas.concat([rows[measures] for rows in theirs]).add_prefix("published ")
    return ours.reindex([TRIVIAL_LABEL, *beside.index]).join(beside).rename_axis("system")
