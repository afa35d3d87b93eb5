"""Captions and sentences of notebook 11: they read its tables, and what runs say of how systems were made."""

from typing import TYPE_CHECKING

import pandas

from as2lib.papers.cascade.systems import Scheme
from as2lib.papers.cerberus.longer import twin
from as2lib.papers.frontier.rankers import COMBINED, TWO, VOTE, rankers, reads_order
from as2lib.papers.frontier.systems import BASELINE, FILTERS, LARGE, SHUFFLED, UNTAUGHT, exited
from as2lib.papers.frontier.tables import AS_CHEAP, COST, SELDOM, SHARE, answered_sizes, base_cost, label
from as2lib.runs import results
from as2lib.runs.wording import apart, begin, listed, number, some, span, spread_text

if TYPE_CHECKING:
    from as2lib.study import Study

OFTEN = 50  # percent of the resamples in which a system that counts as on the front is
NOTE_FRONT = f"Those on the front, and those in at least {SELDOM} % of the bootstrap samples; the csv has every system."
NOTE_FIGURE = (
    "Target test set; means over seeds. Labelled: what dev chooses for the budgets below; the base model, MHS and the "
    "large model, trained longer where the study has them so. Left out: heads that vote, as dear as their mean."
)
NOTE_COMBINED = (
    "cost %: of the operations of the last ranker alone, or of the mean of the same heads; difference: points of MAP "
    "from it, with its 95 % interval over questions (low, high; not corrected for their number); papers' best: the "
    "highest MAP of a system of the papers, plain cascades among them, that costs no more."
)


def caption(study: "Study", rows: pandas.DataFrame) -> str:
    """What is counted, as it stands over the first table."""
    questions = len(answered_sizes(study.run(BASELINE).scores()))
    return (
        f"{results.caption(questions)} Mean ± standard deviation over as many seeds as stand there, in a row over as "
        f"many pairs of them. {COST}: millions of multiply-adds a question, counted from layers, "
        f"widths, candidates and mean words, not measured; {SHARE}, of MAP or of P@1: of "
        f"{study.significance.resamples:,} bootstrap samples of the questions. systems: how many the kind has; "
        f"the csv of table 2 has all {len(rows)}. {study.cosinet.vectors.said() if study.cosinet else ''}"
    ).strip()


def sentence_combined(rows: pandas.DataFrame) -> str:
    """How many on the front are combinations: of the kind that the papers know, and of the others."""
    kinds = rows.loc[rows["front"], "kind"]
    two, others = kinds.eq(TWO).sum(), kinds.isin(COMBINED[1:]).sum()
    return (
        f"On the front stand {len(kinds)} systems; {two or 'none'} of them: a ranker without a transformer before a "
        "dear one, which the papers credit to Matsubara et al. (2020) and have no numbers of; "
        f"{others or 'none'} of them: a kind that no paper tried ({'; '.join(COMBINED[1:])})."
    )


def sentence_of_fits(study: "Study", rows: pandas.DataFrame) -> str:
    """What the cascade lacks beside the large model, and beside the model without exits of the same data."""
    depth, large = study.cascade.exits[-1], label(study, twin(study, LARGE))
    plain, whole, best = (rows.loc[name] for name in (str(Scheme("MT", depth)), str(Scheme("CT", depth, 0.0)), large))
    exits, fits = plain["MAP"] - whole["MAP"], best["MAP"] - plain["MAP"]
    less = ": a cascade's place here comes of how it was fitted more than of its exits" if abs(exits) < fits else ""
    return (
        f"{whole.name} has MAP {number(whole['MAP'])}, {plain.name} without exits, on the same data, "
        f"{number(plain['MAP'])}, and {large}, fitted otherwise and of {best[COST] / plain[COST]:.2f} times its "
        f"operations, {number(best['MAP'])}{less}."
    )


def sentences_front(study: "Study", rows: pandas.DataFrame) -> list[str]:
    here, sure = rows[rows["front"]], rows[rows[SHARE] >= OFTEN]
    dearest, cheapest = here.iloc[-1], here.iloc[0]
    return [
        f"{len(here)} of {len(rows)} systems are on the front of MAP and operations; on it in at least {OFTEN} % of "
        f"the bootstrap samples: {len(sure) or 'none'}.",
        sentence_combined(rows),
        f"The front leads from {cheapest.name} (MAP {number(cheapest['MAP'])}, {_times(study, rows, cheapest)}) to "
        f"{dearest.name} (MAP {number(dearest['MAP'])}, {_times(study, rows, dearest)}).",
        *([sentence_of_fits(study, rows)] if study.cascade else []),
    ]


def _times(study: "Study", rows: pandas.DataFrame, row: pandas.Series) -> str:
    if row[COST] == 0:
        return "no operations"
    return f"{row[COST] / base_cost(study, rows):.2f} times the operations of the base model"


def sentence_exits(study: "Study", rows: pandas.DataFrame) -> str:
    """What exits behind the layers of its body leave of a multiple-heads student."""
    own, plain = (rows.loc[label(study, prefix)] for prefix in (exited(study), twin(study, UNTAUGHT)))
    maps = [spread_text(row["MAP"], row["MAP ±"]) for row in (own, plain)]
    return (
        f"With exits and nothing dropped, MHS without a teacher has MAP {maps[0]} (seeds: {own['seeds']:g}), its twin "
        f"without exits {maps[1]} ({plain['seeds']:g})."
    )


def sentences_combined(study: "Study", found: pandas.DataFrame) -> list[str]:
    """Two a kind of row: which saves most of those that lose less than the margin, which gain; then the vote."""
    margin, said = 100 * study.significance.margin, []
    for kind, rows in found[found["kind"] != VOTE].groupby("kind", sort=False):
        kept, gains = rows[rows["low"] > -margin], rows[rows["MAP"] > rows[AS_CHEAP]]
        best = rows.loc[rows["difference"].idxmax()] if kept.empty else kept.loc[kept["cost %"].idxmin()]
        which = "closest" if kept.empty else "one that saves most"
        said.append(
            f"{kind.capitalize()}: the 95 % interval, not corrected for their number, leaves out a loss of {margin:g} "
            f"points of MAP or more to the last ranker alone for {some(len(kept), len(rows))}; the {which}, "
            f"“{best.name}”, has MAP {number(best['MAP'])}, {apart(best['difference'], 'the last')} (95 % interval "
            f"{span(best['low'], best['high'])}), at {number(best['cost %'], 0)} % of the last's operations"
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


def note_budgets(study: "Study", order: str) -> str:
    """What stands over the table of budgets.  order: from `sentence_order`."""
    questions = len(answered_sizes(study.run(BASELINE).scores("dev")))
    return (
        "Budget and cost: multiples of the base model's operations. Chosen by the highest MAP on dev "
        f"({questions:,} questions), but not from ensembles whose weights were fitted to dev. MAP and P@1: test set, "
        "percent. In hindsight: the best of the test set within the budget; lost: points of MAP that it has more. "
        f"{order}"
    ).strip()


def sentence_order(study: "Study", rows: pandas.DataFrame, found: pandas.DataFrame) -> str:
    """How many choices read the order of the candidates, and what that is worth.  found: from `budgets`."""
    if not study.cosinet:
        return ""
    known = {one.label: one for one in rankers(study)}
    reading = some(sum(reads_order(study, known[name]) for name in found["system"]), len(found), "choices")
    random = results.mean_and_spread(results.frame(results.scored(study, SHUFFLED)))["MAP"]
    own = {label(study, prefix): random[shuffled] for prefix, shuffled in zip(FILTERS.values(), SHUFFLED, strict=True)}
    falls = [f"from {number(rows.loc[name, 'MAP'])} to {number(lost)} for {name}" for name, lost in own.items()]
    return (
        f"{begin(reading)} read the order in which a question's candidates come: in a random one MAP goes "
        f"{listed(falls)} (WO+RR in theirs: {number(rows.loc[label(study, BASELINE), 'MAP'])})."
    )


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


def answer(rows: pandas.DataFrame, found: pandas.DataFrame, order: str) -> str:
    """What to use at which budget, what that depends on, and whether combinations are on the front.

    found: from `budgets`.  order: from `sentence_order`.
    """
    chosen = [
        f"“{row['system']}” {'for none (test MAP ' if budget == '0' else f'from {budget} × on ('}{number(row['MAP'])})"
        for budget, row in found.drop_duplicates("system").iterrows()
    ]
    said = f"Chosen on dev for a budget in operations, as multiples of the base model's: {', '.join(chosen)}."
    return " ".join(filter(None, [said, order, sentence_combined(rows)]))
