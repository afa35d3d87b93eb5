"""`reports/<study>/README.md`: a study's answer as a code host shows it, from what its notebooks saved."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas

from as2lib import escape
from as2lib.papers import overview
from as2lib.papers.cerberus import budget, second_tables
from as2lib.paths import find_root
from as2lib.report.check import measured
from as2lib.report.tables import as_markdown

if TYPE_CHECKING:
    from as2lib.study import Study

SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z\d“])")
Said = str | Callable[["Study"], str]
SECTIONS: tuple[tuple[str, tuple[str, int], Said], ...] = (
    # title, what follows it (a table `NN_table_k` with its digits, or a figure `NN_figure_k`), what is said of it
    ("The main table", ("00_table_1", 1), "Accuracy in percent on the target test set, mean ± spread over seeds."),
    ("A second target", ("03_table_3", 1), second_tables.sentence_target),
    ("What differs there", ("03_table_4", 2), "Points of MAP, paired over its questions (03_distillation)."),
    ("Accuracy against cost", ("11_figure_1", 0), "A point is a system, the fuller the surer it is on the front."),
    ("For this budget, this system", ("11_table_4", 2), "Budgets are operations a question; chosen on dev."),
    ("The papers' claims", ("00_table_3", 0), "Each judged by one rule: [all of them](tables/00_table_4.csv)."),
)


def write(study: "Study") -> Path:
    """Write the page; a part whose notebook was not run is left out."""
    folder = find_root() / "reports" / study.variant
    found = measured(study)
    stand_first = [*((number, "answer") for number in overview.headlines(study)), ("00", "claims")]
    first = [found.get(number, {}).get(said, "").split("\n")[0] for number, said in stand_first]
    parts = [
        f"# {escape.markdown(study.title)}",
        "> Which candidate answers the question, and how cheaply can a model know?",
    ]
    parts.append("\n".join(_item(finding) for finding in filter(None, first)))
    parts.append(overview.legend(study))
    for title, (name, digits), text in SECTIONS:
        said = text if isinstance(text, str) else text(study)
        figure, table = folder / "figures" / f"{name}.png", folder / "tables" / f"{name}.csv"
        if figure.exists():
            parts.append(f"## {title}\n\n![{title}: {said}](figures/{figure.name})\n\n{said}")
        elif table.exists():
            parts.append(f"## {title}\n\n{said}\n\n{as_markdown(pandas.read_csv(table, index_col=0), digits)}")
    parts.append(f"## Every question and its answer\n\n{as_markdown(overview.answers(study, found))}")
    longer = ""
    if study.longer:
        more = f"{budget.steps(study, budget.BEFORE + 'transfer/')} and at most {study.longer.adapt.steps:,}"
        longer = f"; the rows that were trained longer, {more} (13_budget)"
        if computing := budget.computing(study):
            longer += f", {computing}"
    parts.append(
        f"Budgets decide such numbers: CERBERUS's fits were given {budget.steps(study, 'transfer/')} of transfer and "
        f"{budget.steps(study, 'base/', 'teacher/')} of adapt{longer}.\n\n"
        f"`make study STUDY={study.study}` writes this page and the notebooks' own, from [index.html](index.html) on. "
        "Tables are in [tables/](tables), figures in [figures/](figures), the scores of every run in [runs/](runs)."
    )
    page = folder / "README.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _item(finding: str) -> str:
    """A finding as an item of a list, with its further sentences as items below it."""
    return "\n  - ".join(SENTENCE_END.split(f"- {escape.markdown(finding)}"))
