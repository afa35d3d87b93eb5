"""Studies of several targets side by side: CERBERUS's Table 2 over its data sets, and the headline tests pooled."""

from typing import TYPE_CHECKING

import pandas

from as2lib.papers.cerberus import systems as cerberus
from as2lib.study import results
from as2lib.study.run import Notebook, System

if TYPE_CHECKING:
    from as2lib.study import Study

COLUMNS = {"wikiqa": "WikiQA", "selqa": "ASNQ", "paper": "WikiQA", "paper_asnq": "ASNQ"}  # study → the paper's columns


def notebooks(study: "Study") -> list[Notebook]:
    question = "Do the findings hold on other targets?"
    systems = (*cerberus.trivial(study), *cerberus.table2(study))
    return [Notebook("13_across", question, "CERBERUS Table 2, its data sets side by side", systems)]


def studies(study: "Study") -> "dict[str, Study]":
    """The study, and those of `across` in its file whose runs are here or published, by name."""
    found = {study.name: study}
    for name in study.across:
        other = type(study).load(name)
        if any(other.store.find(run) for run in other.plan):
            found[name] = other
    return found


def rows(study: "Study") -> list[System]:
    """The rows of Table 2 below the trivial baseline."""
    return [cerberus.trivial(study)[-1], *cerberus.table2(study)]


def scores(found: "dict[str, Study]") -> dict[str, pandas.DataFrame]:
    """Study → SCORES of its rows, of the runs that are here or published."""
    return {name: results.load(study, present(study)) for name, study in found.items()}


def present(study: "Study") -> list[System]:
    """The rows of Table 2 all of whose runs are here or published."""
    return [system for system in rows(study) if all(study.store.find(run.name) for run in system.runs())]


def table(found: "dict[str, Study]", scores: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    """One row a system, index `run`: of each study MAP and P@1 with " ±", and the paper's on its own set.

    Rankers that learn nothing come first, whichever of them a study has.
    """
    paper = results.published("cerberus", "table2")
    columns = []
    for name, study in found.items():
        theirs = paper[COLUMNS[name]] if name in COLUMNS else None
        one = results.table(scores[name], present(study), theirs)
        kept = [column for column in one if column.removeprefix("published ").split(" ±")[0] in ("MAP", "P@1")]
        columns.append(one[kept].add_prefix(f"{name} "))
    rows = pandas.concat(columns, axis=1).rename_axis("run")
    return rows.sort_index(key=lambda runs: ~runs.str.startswith("lexical/"), kind="stable")


def headline(found: "dict[str, Study]", scores: dict[str, pandas.DataFrame]) -> dict[str, pandas.DataFrame]:
    """The six comparisons named in advance, of each study and pooled over all questions, stratified by target.

    `p Holm` is corrected over the six.  Only pairs whose systems every study has are pooled.
    """
    paper, tables = results.published("cerberus", "table2"), {}
    for name in found:
        theirs = paper[COLUMNS[name]] if name in COLUMNS else None
        there = set(scores[name]["system"])
        pairs = [pair for pair in cerberus.HEADLINE if there.issuperset(pair)]
        tables[name] = results.compare(scores[name], pairs, theirs)
    if len(found) > 1:
        pairs = [pair for pair in cerberus.HEADLINE if all(pair in table.index for table in tables.values())]
        tables["pooled"] = results.pooled(scores, pairs)
    for table in tables.values():
        table["p Holm"] = results.holm(table["p"])
    return tables
