"""The tables of notebook 11 and the sentences that read them, from stored scores: runs no model, draws nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.papers.cerberus.longer import twin
from as2lib.papers.frontier.rankers import Ranker, fitted_on_dev, operations, parameters, rankers, scores
from as2lib.papers.frontier.systems import BASE, BASELINE, HEADS, KINDS, LARGE, UNTRIED, VOTE
from as2lib.runs import results
from as2lib.runs.wording import apart, number, some, span

if TYPE_CHECKING:
    from as2lib.study import Study

BUDGETS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # in operations of the base model
OFTEN = 50  # percent of the resamples in which a system that counts as on the front is
MARKS = dict(zip((*KINDS[1:], *UNTRIED), "osD^v*PX", strict=True))  # kind → its marker in the figure
SELDOM = 10  # in fewer, and a system has no place in the table of the front
DECIMALS = 12  # values are rounded to these: the last bits of a mean must not decide what is on the front
COST, SHARE, P1_SHARE, AS_CHEAP = "M operations", "on the front %", "on the P@1 front %", "papers' best"
NOTE_FRONT = f"Those on the front, and those in at least {SELDOM} % of the bootstrap samples; the csv has every system."
NOTE_FIGURE = (
    "Target test set; means over seeds. Labelled: what dev chooses for the budgets below; the base model, MHS and the "
    "large model, trained longer where the study has them so. Left out: heads that vote, as dear as their mean."
)
NOTE_UNTRIED = (
    "cost %: of the operations of the last ranker alone, or of the mean of the same heads; difference: points of MAP "
    "from it, with its 95 % interval over questions (low, high; not corrected for their number); papers' best: the "
    "highest MAP of a system of the papers, plain cascades among them, that costs no more."
)


def table(study: "Study") -> pandas.DataFrame:
    """Every ranker by its label: kind, millions of multiply-adds a question, parameters, MAP and P@1 on the test set.

    Percent, mean over seeds, and " ±"; dev MAP is missing where a ranker cannot be chosen on dev (`dev_map`).
    front: whether no other has as much MAP at lower or more at the same cost; `SHARE`: in how many resamples of the
    questions; `P1_SHARE`: the same of P@1.  In the order of cost, then of MAP.
    """
    found = rankers(study)
    tested = {one.label: scores(study, one) for one in found}
    results_frame = results.frame(tested)
    rows = results.mean_and_spread(results_frame)[["MAP", "MAP ±", "P@1", "P@1 ±"]].rename_axis("system")
    candidates = answered_sizes(next(iter(tested.values()))[0])
    rows.insert(0, "kind", [one.kind for one in found])
    rows.insert(1, COST, [operations(one, candidates) / 1e6 for one in found])
    rows.insert(2, "parameters", [parameters(study, one) for one in found])
    rows["dev MAP"] = dev_map(study, found)
    cost, resamples = rows[COST].to_numpy(), study.significance.resamples
    values = {metric: by_question(results_frame, metric)[rows.index].to_numpy() for metric in ("MAP", "P@1")}
    rows["front"] = on_front(cost, values["MAP"].mean(axis=0)[None])[0]
    rows[SHARE], rows[P1_SHARE] = (100 * shares(cost, values[metric], resamples) for metric in ("MAP", "P@1"))
    return rows.sort_values([COST, "MAP"], kind="stable")


def behind(study: "Study") -> dict[str, list[str]]:
    """Ranker → the prefixes of the runs that it is made from."""
    return {one.label: list(dict.fromkeys(stage.prefix for stage in one.stages)) for one in rankers(study)}


def answered_sizes(table: pandas.DataFrame) -> numpy.ndarray:
    """How many candidates each question with a correct one has."""
    groups = table.groupby("question_id", sort=False)["label"]
    return groups.size()[groups.sum() > 0].to_numpy()


def by_question(frame: pandas.DataFrame, metric: str) -> pandas.DataFrame:
    """A metric of each question, a column a system, mean over seeds."""
    return pandas.DataFrame({name: each.mean(axis=1) for name, each in results.by_question(frame, metric).items()})


def dev_map(study: "Study", found: Sequence[Ranker]) -> pandas.Series:
    """Of those that were scored on dev, and have no weights that were fitted to it."""
    fair = [one for one in found if not fitted_on_dev(study, one)]
    dev = {one.label: tables for one in fair if (tables := scores(study, one, "dev")) is not None}
    return results.mean_and_spread(results.frame(dev))["MAP"]


def on_front(cost: numpy.ndarray, values: numpy.ndarray) -> numpy.ndarray:
    """Which systems no other dominates, with as high a value at a lower cost or a higher one at the same cost.

    cost: (s,).  values: (r, s), several cases of the same systems.  Returns (r, s) bool; equals at one cost all stand.
    """
    values = numpy.round(values, DECIMALS)
    _, group = numpy.unique(cost, return_inverse=True)
    best = numpy.full((group.max() + 1, len(values)), -numpy.inf)
    numpy.maximum.at(best, group, values.T)
    cheaper = numpy.vstack([numpy.full((1, len(values)), -numpy.inf), numpy.maximum.accumulate(best)[:-1]])
    return (values > cheaper[group].T) & (values == best[group].T)


def shares(cost: numpy.ndarray, values: numpy.ndarray, resamples: int) -> numpy.ndarray:
    """In which share of bootstrap samples of the questions each system is on the front.

    cost: (s,).  values: (q, s), of each question.  Returns (s,) in [0, 1]; they sum to the mean size of the front.
    """
    questions = len(values)
    drawn = numpy.random.default_rng(0).multinomial(questions, numpy.full(questions, 1 / questions), resamples)
    return on_front(cost, drawn @ values / questions).mean(axis=0)


def front(rows: pandas.DataFrame) -> tuple[pandas.DataFrame, int]:
    """All rows, first those on the front or in `SELDOM` percent of the resamples and more; and how many these are."""
    near = rows["front"] | (rows[SHARE] >= SELDOM)
    found = rows.drop(columns="dev MAP").assign(front=rows["front"].map({True: "yes", False: "no"}))
    return pandas.concat([found[near], found[~near]]), int(near.sum())


def best_of_kinds(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The system of each kind that has the highest MAP, the cheapest of equals, and how many the kind has."""
    best = rows.sort_values("MAP", ascending=False, kind="stable").drop_duplicates("kind").sort_values(COST)
    counts = rows["kind"].value_counts()
    best = best.drop(columns=["front", "dev MAP"]).assign(systems=counts[best["kind"]].to_numpy())
    return best.reset_index().set_index("kind")


def untried(study: "Study", rows: pandas.DataFrame) -> pandas.DataFrame:
    """What no paper tried beside its last ranker alone, or beside the mean of the same heads: paired tests.

    `AS_CHEAP`: the highest MAP of a system of the papers that costs no more.  cost %: of the operations of the last
    ranker.  difference, low, high: points of MAP from it, 95 % interval over questions.
    """
    found = {one.label: one for one in rankers(study)}
    new = [label for label in rows.index if found[label].kind in UNTRIED]
    pairs = [(label, found[label].beside) for label in new]
    tested = {label: scores(study, found[label]) for pair in pairs for label in pair}
    tests = results.compare(study, tested, pairs).droplevel("b")
    cost = [100 * rows.loc[a, COST] / rows.loc[b, COST] for a, b in pairs]
    columns = rows.loc[tests.index, ["kind", "MAP", "P@1"]].assign(**{AS_CHEAP: as_cheap(rows, new), "cost %": cost})
    found = columns.join(tests[["difference", "low", "high"]]).rename_axis("system")
    order = [UNTRIED.index(kind) for kind in found["kind"]]
    return found.assign(order=order).sort_values("order", kind="stable").drop(columns="order")


def as_cheap(rows: pandas.DataFrame, labels: Sequence[str]) -> list[float]:
    """The highest MAP that a system of the papers, plain cascades among them, has at each system's cost or less."""
    papers = rows[~rows["kind"].isin(UNTRIED)]
    return [papers.loc[papers[COST] <= rows.loc[label, COST] * (1 + 1e-9), "MAP"].max() for label in labels]


def budgets(study: "Study", rows: pandas.DataFrame) -> pandas.DataFrame:
    """For each budget, in operations of the base model: the best system on dev, the cheapest of equals.

    Beside it the best of the test set within the budget, in hindsight, which nobody can choose; lost: what it has more.
    """
    unit, found = base_cost(study, rows), {}
    for budget in BUDGETS:
        within = rows[rows[COST] <= budget * unit * (1 + 1e-9)]
        name = within["dev MAP"].idxmax()  # the first, which is the cheapest
        picked, best = within.loc[name], within["MAP"].idxmax()
        row = {"system": name, "cost ×": picked[COST] / unit, "parameters": picked["parameters"]}
        row |= {column: picked[column] for column in ("dev MAP", "MAP", "P@1")}
        found[f"{budget:g}"] = row | {"in hindsight": best, "lost": within.loc[best, "MAP"] - picked["MAP"]}
    return pandas.DataFrame.from_dict(found, orient="index").rename_axis("budget ×")


def note_budgets(study: "Study") -> str:
    """What stands over the table of budgets."""
    questions = len(answered_sizes(study.run(BASELINE).scores("dev")))
    return (
        "Budget and cost: multiples of the base model's operations. Chosen by the highest MAP on dev "
        f"({questions:,} questions), but not from ensembles whose weights were fitted to dev. MAP and P@1: test set, "
        "percent. In hindsight: the best of the test set within the budget; lost: points of MAP that it has more."
    )


def base_cost(study: "Study", rows: pandas.DataFrame) -> float:
    return rows.loc[label(study, BASE), COST]


def label(study: "Study", prefix: str) -> str:
    """What the tables call the ranker that is one system of the catalogue."""
    return next(
        one.label for one in rankers(study) if [(s.prefix, s.column) for s in one.stages] == [(prefix, "score")]
    )


def drawn(study: "Study", rows: pandas.DataFrame) -> pandas.DataFrame:
    """The points of the figure, in operations of the base model: what costs nothing has no place on its axis.

    Labelled are the systems that dev chooses, and the base model, MHS and the large model.  Heads that vote are left
    out where they are not on the front: they would hide the mean of the same heads.
    """
    found = rows[(rows[COST] > 0) & ((rows["kind"] != VOTE) | rows["front"])]
    names = {name: name for name in budgets(study, rows)["system"]}
    for name, prefix in {"base model": BASE, "MHS": HEADS, "large model": LARGE}.items():
        names[label(study, twin(study, prefix))] = name
    found = found.rename(columns={"MAP": "value", SHARE: "share"})
    found = found.assign(cost=found[COST] / base_cost(study, rows), label=[names.get(name, "") for name in found.index])
    return found[["kind", "cost", "value", "front", "share", "label"]]


def baseline(study: "Study", rows: pandas.DataFrame) -> tuple[str, float]:
    """The trivial ranker that the figure shows as a line: its name and its MAP."""
    return "WO+RR, no operation", rows.loc[label(study, BASELINE), "MAP"]


def caption(study: "Study", rows: pandas.DataFrame) -> str:
    """What is counted, as it stands over the first table."""
    questions = len(answered_sizes(study.run(BASELINE).scores()))
    return (
        f"{results.caption(questions, study.seeds)} {COST}: millions of multiply-adds a question, counted from layers, "
        f"widths, candidates and mean words, not measured; {SHARE}, of MAP or of P@1: of "
        f"{study.significance.resamples:,} bootstrap samples of the questions. systems: how many the kind has; "
        f"the csv of table 2 has all {len(rows)}."
    )


def sentences_front(study: "Study", rows: pandas.DataFrame) -> list[str]:
    here, sure = rows[rows["front"]], rows[rows[SHARE] >= OFTEN]
    new = here["kind"].isin(UNTRIED).sum()
    dearest, cheapest = here.iloc[-1], here.iloc[0]
    return [
        f"{len(here)} of {len(rows)} systems are on the front of MAP and operations, {new or 'none'} of them "
        f"combinations that no paper tried; on it in at least {OFTEN} % of the bootstrap samples: "
        f"{len(sure) or 'none'}.",
        f"The front leads from {cheapest.name} (MAP {number(cheapest['MAP'])}, {_times(study, rows, cheapest)}) to "
        f"{dearest.name} (MAP {number(dearest['MAP'])}, {_times(study, rows, dearest)}).",
    ]


def _times(study: "Study", rows: pandas.DataFrame, row: pandas.Series) -> str:
    if row[COST] == 0:
        return "no operations"
    return f"{row[COST] / base_cost(study, rows):.2f} times the operations of the base model"


def sentences_untried(study: "Study", found: pandas.DataFrame) -> list[str]:
    """Two a kind of row: which saves most of those that lose less than the margin, which gain; then the vote."""
    margin, said = 100 * study.significance.margin, []
    for kind, rows in found[found["kind"] != VOTE].groupby("kind", sort=False):
        kept, gains = rows[rows["low"] > -margin], rows[rows["MAP"] > rows[AS_CHEAP]]
        best = rows.loc[rows["difference"].idxmax()] if kept.empty else kept.loc[kept["cost %"].idxmin()]
        which = "closest" if kept.empty else "one that saves most"
        said.append(
            f"{kind.capitalize()}: shown to lose less than {margin:g} points of MAP to the last ranker alone: "
            f"{some(len(kept), len(rows))}; the {which}, “{best.name}”, has MAP {number(best['MAP'])}, "
            f"{apart(best['difference'], 'the last')} (95 % interval {span(best['low'], best['high'])}), at "
            f"{number(best['cost %'], 0)} % of the last's operations"
            f"{'' if best['cost %'] < 100 else ', which saves nothing'}."
        )
        top = (
            f"; the best of them is “{gains['MAP'].idxmax()}” (MAP {number(gains['MAP'].max())})" if len(gains) else ""
        )
        said.append(
            f"{kind.capitalize()}: a higher MAP than every system of the papers, plain cascades among them, that costs "
            f"no more: {some(len(gains), len(rows))}{top}."
        )
    votes = found.loc[found["kind"] == VOTE]
    if len(votes):
        clear = ((votes["low"] > 0) | (votes["high"] < 0)).sum()
        said.append(
            "Heads that vote, minus the mean of the same heads: "
            f"{span(votes['difference'].min(), votes['difference'].max())} "
            f"points of MAP over {len(votes)} systems; the 95 % interval leaves zero out for {clear or 'none'}."
        )
    return said


def sentences_budgets(rows: pandas.DataFrame, found: pandas.DataFrame) -> list[str]:
    """What a choice on dev reaches, and loses to hindsight.  rows: from `table`.  found: from `budgets`."""
    unseen = rows["dev MAP"].isna()
    kinds = ", ".join(dict.fromkeys(rows.loc[unseen, "kind"]))
    free, most = found.iloc[0], found.loc[found["MAP"].idxmax()]
    said = [
        f"With no operations {free['system']} has MAP {number(free['MAP'])}; the most that a choice on dev reaches is "
        f"{number(most['MAP'])}, with {most['system']} at {most['cost ×']:.2f} times the operations of the base model.",
        "On average a choice on dev is "
        f"{apart(-found['lost'].mean(), 'the best of the test set within the same budget')}; "
        f"the widest gap is {number(found['lost'].max())}.",
    ]
    if unseen.any():
        said.append(
            f"{unseen.sum()} of {len(rows)} systems have weights fitted to dev, or no scores there, and cannot be "
            f"chosen; kinds: {kinds}."
        )
    return said


def answer(rows: pandas.DataFrame, found: pandas.DataFrame) -> str:
    """What to use at which budget, and whether combinations are on the front.  found: from `budgets`."""
    chosen = [
        f"“{row['system']}” {'for none (test MAP ' if budget == '0' else f'from {budget} × on ('}{number(row['MAP'])})"
        for budget, row in found.drop_duplicates("system").iterrows()
    ]
    here = rows[rows["front"]]
    new = some(int(here["kind"].isin(UNTRIED).sum()), len(here), "systems on the front")
    return (
        f"Chosen on dev for a budget in operations, as multiples of the base model's: {', '.join(chosen)}. "
        f"Combinations that no paper tried: {new}."
    )


def recorded(rows: pandas.DataFrame, found: pandas.DataFrame) -> dict[str, float]:
    """What the overview and the expected file read: the front's size, and MAP at each budget."""
    sizes = {
        "systems": len(rows),
        "front": int(rows["front"].sum()),
        "front_mean_size": round(rows[SHARE].sum() / 100, 3),
    }
    return sizes | {f"budget {budget} MAP": points for budget, points in found["MAP"].items()}
