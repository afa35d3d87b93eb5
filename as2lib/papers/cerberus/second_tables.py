"""Table 2 on a second target, beside the paper's ASNQ columns: its rows, and which of their differences are real."""

from typing import TYPE_CHECKING

import pandas

from as2lib.metrics.significance import smallest_effect
from as2lib.papers.cerberus import systems, tables
from as2lib.runs import results
from as2lib.runs.params import FAMILIES
from as2lib.runs.wording import number

if TYPE_CHECKING:
    from as2lib.study import Study

POWER = 0.8  # of the smallest effect
PAIRS = (
    ("kd/electra", "base/electra"),
    ("ensemble/distilled", "base/electra"),
    ("mhs/3h1", "base/electra"),
    ("mhs/3h1", "kd/electra"),
    ("mhs/3h1", "ensemble/distilled"),
    ("mhs/3h1", "teacher/electra"),
)


def table(study: "Study") -> pandas.DataFrame:
    """Table 2 on the second target, beside the paper's ASNQ; as `results.table`."""
    paper = tables.on_wikiqa().assign(run=lambda rows: rows["run"].map(_here(study)))
    found = results.table(study, systems.on_second(study), beside=paper, dataset="ASNQ")
    return found.sort_values("row", na_position="first")


def beside_all(study: "Study", found: pandas.DataFrame) -> pandas.DataFrame:
    """`table`, with the paper's rows that are not run here.  found: from `table`."""
    paper = results.published("cerberus_table2")
    paper = paper[~paper["run"].isin(_here(study))]
    taught = (", taught by " + paper["teacher"]).fillna("")
    rest = results.published_values(paper, "ASNQ").join(results.published_parameters(paper)).join(paper["row"])
    rest = rest.set_index(paper["student"] + taught + ", not run here")
    return pandas.concat([found, rest]).rename_axis("system").sort_values("row", na_position="first")


def caption(study: "Study", found: pandas.DataFrame) -> str:
    text, given = results.caption(int(found["questions"].iloc[0]), (), "ASNQ, CERBERUS Table 2"), study.second
    if not given:
        seeds = f"One seed a row, {systems.HEADS} where a spread is shown: the student's base model."
        return f"{text} {seeds} {results.CLIPPED}"
    learnt = "; ".join(f"{given.names[family]} {' + '.join(given.train[family])}" for family in FAMILIES)
    return (
        f"{text} Test set: {' + '.join(given.test)}. One seed a row: {said_budget(study)}. Learnt from: {learnt}. The "
        f"ensemble's weights are tuned on {' + '.join(given.dev)}. {results.CLIPPED}"
    )


def sentence_target(study: "Study") -> str:
    """What `table` is of, for a page that has no caption beside it."""
    where = " + ".join(study.second.test) if study.second else "the transfer set's test questions"
    budget = f" One seed a row: {said_budget(study)}." if study.second else ""
    return (
        f"CERBERUS's Table 2 on {where}, where nothing is transferred; published: its columns for ASNQ. In percent."
        f"{budget}"
    )


def said_budget(study: "Study") -> str:
    """What the fits on a second target were given, by size where they differ, and how that was found."""
    given = study.second
    base = f"; models of the base size, students among them: {given.base_fit.said()}" if given.base_fit else ""
    return f"{given.fit.said()}{base}. {given.note}".rstrip(". ")


def pairs(study: "Study") -> list[tuple[str, str]]:
    """Those of `PAIRS` whose systems there are, as run prefixes."""
    here = _here(study)
    return [(here[a], here[b]) for a, b in PAIRS if {a, b} <= here.keys()]


def names(study: "Study") -> dict[str, str]:
    """Run prefix → what comparisons call the system."""
    return {row.prefix: row.name for row in systems.on_second(study)}


def sentence_power(study: "Study") -> str:
    """The smallest difference between the first two systems compared that each test set could have shown.

    On the target it is that of the systems in the same rows of Table 2.
    """
    called, found = systems.systems(study) | {one.prefix: one for one in systems.on_second(study)}, []
    pair = pairs(study)[0]
    for a, b in (pair, [systems.rows_on_second(study)[one] for one in pair]):
        values = results.by_question(results.frame(results.scored(study, (a, b))))
        means = [values[one].mean(axis=1) for one in (a, b)]
        smallest = number(100 * smallest_effect(*means, study.significance.alpha, POWER))
        found += [f"{smallest} points between {called[a].name} and {called[b].name}", f"{len(means[0]):,}"]
    return (
        f"The smallest difference that one test finds with a power of {POWER:g}: {found[0]} on these {found[1]} "
        f"questions; on the target's {found[3]}, of the same rows of Table 2, {found[2]}."
    )


def _here(study: "Study") -> dict[str, str]:
    """The rows of Table 2 → run prefixes on the second target."""
    return {published: prefix for prefix, published in systems.rows_on_second(study).items()}
