"""The tables of notebook 11, from stored scores: runs no model, draws nothing; `sentences` reads them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.papers.cerberus.longer import twin
from as2lib.papers.frontier.rankers import COMBINED, VOTE, fitted_on_dev, operations, parameters, rankers, scores
from as2lib.papers.frontier.systems import BASE, BASELINE, HEADS, KINDS, LARGE, systems
from as2lib.runs import results

if TYPE_CHECKING:
    from as2lib.study import Study

BUDGETS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # in operations of the base model
MARKS = dict(zip((*KINDS[1:], *COMBINED), "osD^v*hPpX", strict=True))  # kind → its marker in the figure
SELDOM = 10  # in fewer, and a system has no place in the table of the front
DECIMALS = 12  # values are rounded to these: the last bits of a mean must not decide what is on the front
COST, SHARE, P1_SHARE, AS_CHEAP = "M operations", "on the front %", "on the P@1 front %", "papers' best"


def table(study: "Study") -> pandas.DataFrame:
    """Every ranker by its label: kind, millions of multiply-adds a question, parameters, MAP and P@1 on the test set.

    Percent, mean over seeds, and " ±"; seeds: how many, in a row how many pairs of them.  dev MAP is missing where a
    ranker was not scored on dev, or has weights that were fitted to it.  front: whether no other has as much MAP at
    lower or more at the same cost; `SHARE`: in how many resamples of the questions; `P1_SHARE`: the same of P@1.  In
    the order of cost, then of MAP.
    """
    found = rankers(study)
    tested = {one.label: scores(study, one) for one in found}
    results_frame = results.frame(tested)
    rows = results.mean_and_spread(results_frame)[["MAP", "MAP ±", "P@1", "P@1 ±"]].rename_axis("system")
    candidates = answered_sizes(next(iter(tested.values()))[0])
    rows.insert(0, "kind", [one.kind for one in found])
    rows.insert(1, COST, [operations(one, candidates) / 1e6 for one in found])
    rows.insert(2, "parameters", [parameters(study, one) for one in found])
    rows.insert(3, "seeds", [len(tested[one.label]) for one in found])
    fair = [one for one in found if not fitted_on_dev(study, one)]
    dev = {one.label: tables for one in fair if (tables := scores(study, one, "dev")) is not None}
    rows["dev MAP"] = results.mean_and_spread(results.frame(dev))["MAP"]
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


def combined(study: "Study", rows: pandas.DataFrame) -> pandas.DataFrame:
    """Each combination beside its last ranker alone, or beside the mean of the same heads: paired tests.

    `AS_CHEAP`: the highest MAP of a system of the papers that costs no more.  cost %: of the operations of the last
    ranker.  difference, low, high: points of MAP from it, 95 % interval over questions.
    """
    found = {one.label: one for one in rankers(study)}
    new = [label for label in rows.index if found[label].kind in COMBINED]
    pairs = [(label, found[label].beside) for label in new]
    tested = {label: scores(study, found[label]) for pair in pairs for label in pair}
    tests = results.compare(study, tested, pairs).droplevel("b")
    cost = [100 * rows.loc[a, COST] / rows.loc[b, COST] for a, b in pairs]
    columns = rows.loc[tests.index, ["kind", "MAP", "P@1"]].assign(**{AS_CHEAP: as_cheap(rows, new), "cost %": cost})
    found = columns.join(tests[["difference", "low", "high"]]).rename_axis("system")
    return found.sort_values("kind", key=lambda kinds: kinds.map(COMBINED.index), kind="stable")


def as_cheap(rows: pandas.DataFrame, labels: Sequence[str]) -> list[float]:
    """The highest MAP that a system of the papers, plain cascades among them, has at each system's cost or less."""
    papers = rows[~rows["kind"].isin(COMBINED)]
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
        row = {"system": name, "cost ×": picked[COST] / unit, **picked[["parameters", "dev MAP", "MAP", "P@1"]]}
        found[f"{budget:g}"] = row | {"in hindsight": best, "lost": within.loc[best, "MAP"] - picked["MAP"]}
    return pandas.DataFrame.from_dict(found, orient="index").rename_axis("budget ×")


def base_cost(study: "Study", rows: pandas.DataFrame) -> float:
    return rows.loc[label(study, BASE), COST]


def label(study: "Study", prefix: str) -> str:
    """What the tables call the ranker that is one system of the catalogue."""
    return systems(study)[prefix].label


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


def recorded(rows: pandas.DataFrame, found: pandas.DataFrame) -> dict[str, float]:
    """What the overview and the expected file read: the front's size, and MAP at each budget."""
    mean_size = round(rows[SHARE].sum() / 100, 3)
    sizes = {"systems": len(rows), "front": int(rows["front"].sum()), "front_mean_size": mean_size}
    return sizes | {f"budget {budget} MAP": points for budget, points in found["MAP"].items()}
