"""Which drop ratios a cascade should have: every combination on dev, from stored scores; trains and draws nothing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas

from as2lib.metrics import cascade
from as2lib.metrics.cost import cascade_cost
from as2lib.metrics.ranking import summary
from as2lib.papers.cascade.systems import Scheme
from as2lib.papers.cascade.tables import scored
from as2lib.runs.results import published
from as2lib.runs.wording import changes, number

if TYPE_CHECKING:
    from as2lib.study import Study

PICKED, ALIKE = "picked on dev", "the same at each exit"


def grid(study: "Study") -> pandas.DataFrame:
    """Every combination of drop ratios of CT on the wide dev set; P@1 and `cost %` in percent."""
    table, exits = study.run("cascade/wide/seed-0").scores("dev"), study.cascade.exits
    scores = table.filter(like="exit_").to_numpy()
    found = cascade.grid(table["question_id"], table["label"], scores, exits[-1], exits, study.cascade.grid)
    return found.assign(**{"P@1": 100 * found["P@1"], "cost %": 100 * found["cost"]})


def note_grid() -> str:
    """What the paper says of its Figure 2, whose points it does not print."""
    said = published("cascade_figure2").set_index("quantity")["value"]
    tapers = said.filter(like="tapers").item()
    return (
        f"Published (GPD, dev set, ratios {said['lowest drop ratio']:g} to {said['highest drop ratio']:g}): P@1 from "
        f"{said['lowest P@1']:.1f} to {said['highest P@1']:.1f}; from a relative cost of {tapers:g} % on it tapers off."
    )


def uniform(points: pandas.DataFrame, alphas: Sequence[float]) -> pandas.DataFrame:
    """The points of a grid with one of these ratios at every exit, each with a `label`."""
    ratios = points.filter(like="alpha_")
    found = points[ratios.eq(ratios["alpha_1"], axis=0).all(axis=1) & ratios["alpha_1"].isin(alphas)]
    return found.assign(label=[f"alpha {alpha:g} at every exit" for alpha in found["alpha_1"]])


def percent(study: "Study", alpha: float | Sequence[float], split: str) -> dict[str, float]:
    """P@1 and MAP of CT on the wide set, in percent, with one drop ratio or one for each exit but the last."""
    [table] = scored(study, Scheme("CT", study.cascade.exits[-1], alpha), "wide", split)
    found = summary(table["question_id"], table["label"], table["score"])
    return {f"{split} {metric}": 100 * found[metric] for metric in ("P@1", "MAP")}


def questions(study: "Study") -> int:
    """How many answered questions the wide dev set has."""
    return int(study.run("cascade/wide/seed-0").scores("dev").groupby("question_id")["label"].max().sum())


def sentence_grid(points: pandas.DataFrame, whole: float, questions: int) -> str:
    """whole: P@1 on dev where nothing is dropped.  questions: of dev."""
    low, high, front = points["P@1"].min(), points["P@1"].max(), points["front"].sum()
    return (
        f"Over {len(points):,} combinations P@1 on dev goes from {number(low)} to {number(high)}, with nothing dropped "
        f"it is {number(whole)}; one of dev's {questions:,} questions is {number(100 / questions)} points. {front} of "
        "the combinations make up the front."
    )


def chosen(study: "Study", points: pandas.DataFrame) -> pandas.DataFrame:
    """For the cost of each uniform ratio, the combination of `grid` that is best on dev within it.

    Columns: budget %, ratios, values, cost %, and P@1 and MAP on dev and test; costs relative to the full model's.
    """
    rows, exits = [], study.cascade.exits
    names = points.filter(like="alpha_").columns
    for alpha in study.cascade.alphas:
        budget = cascade_cost(exits[-1], exits, alpha)
        picked = cascade.choose(points, budget)[names].tolist()
        for label, ratios in ((ALIKE, [alpha] * len(names)), (PICKED, picked)):
            row = {"budget %": 100 * (budget - 1), "ratios": label, "values": ", ".join(f"{r:g}" for r in ratios)}
            row["cost %"] = 100 * (cascade_cost(exits[-1], exits, ratios) - 1)
            rows.append(row | percent(study, ratios, "dev") | percent(study, ratios, "test"))
    return pandas.DataFrame(rows)


def sentence_chosen(chosen: pandas.DataFrame, questions: int) -> str:
    """Each combination that was picked counts once, beside the tightest of its budgets.  questions: of dev."""
    alike, picked = (chosen[chosen["ratios"] == name].set_index("budget %") for name in (ALIKE, PICKED))
    once = picked.sort_index(ascending=False).drop_duplicates("values", keep="last")
    columns = ["dev P@1", "test P@1"]
    dev, test = (once[columns] - alike.loc[once.index, columns]).mean()
    which = "one combination of ratios was" if len(once) == 1 else f"{len(once)} different combinations of ratios were"
    return (
        f"For {len(picked)} budgets, {which} picked on {questions:,} questions of dev. Against one ratio for all "
        f"exits at the tightest budget of each, picking {changes(dev, 'P@1')} there, and on the test set it "
        f"{changes(test, 'P@1')}."
    )
