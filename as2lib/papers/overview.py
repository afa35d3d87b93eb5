"""What the index says first: the verdict of a study, and each notebook's answer, from what the notebooks recorded."""

from typing import TYPE_CHECKING, Any

import pandas

from as2lib.papers import notebooks, verdicts
from as2lib.papers.cerberus.tables import note_on_families
from as2lib.runs.results import published
from as2lib.runs.wording import number, some

if TYPE_CHECKING:
    from as2lib.study import Study

HEADLINES = (("13", "03"), ("11",))  # the notebooks whose answers are the study's: the first of each that it has
NOT_RUN = "not run"
Measured = dict[str, dict[str, Any]]  # notebook's number → what it recorded


def verdict(study: "Study", measured: Measured, counts: pandas.DataFrame, expected: int, moved: int) -> list[str]:
    """What was found, and whether to trust it: a sentence each.

    counts: from `verdicts.counts`.  expected, moved: how many numbers the study has to give, and does not.
    """
    said = [
        f"{question} {NOT_RUN}." if (text := answer(measured, number)) == NOT_RUN else text
        for number, question in headlines(study).items()
    ]
    trust = "There is no file of numbers that a clean run must give."
    if expected:
        within = some(expected - moved, expected)
        trust = f"Of the numbers that a clean run must give, {within} are within their tolerance."
    return [*said, verdicts.sentence(counts), trust]


def legend(study: "Study") -> str:
    """What the names in tables stand for, and what counts as different and as equal."""
    given, paper = study.significance, published("cerberus_table2").set_index("run")["WikiQA MAP"]
    gain = number(paper["mhs/3h1"] - paper["base/electra"])
    longer = ""
    if study.longer:
        once = ", some rows one" if study.longer.once else ""
        longer = f" Trained longer: the same at a larger budget, {len(study.longer.seeds)} seeds{once} (13_budget)."
    return (
        "MHS: CERBERUS's student, one encoder with several heads; CA: Compare-Aggregate; CT, MT: the Cascade "
        "Transformer, and a plain model beside it; RR: the original order; WO+RR: word overlap, ties by that order."
        f"{longer} Published levels are of larger encoders, transferred from ASNQ: read differences "
        "between rows, not levels. Systems are compared on the same questions: p below "
        f"{given.alpha:g} (Wilcoxon, Holm-corrected) counts as a difference; equal is what TOST puts within "
        f"{100 * given.margin:g} points of MAP, no less than gains that the papers report (MHS over its base model, "
        f"WikiQA: {gain}), so “equal” does not rule these out.{note_on_families(study)}"
    )


def headlines(study: "Study") -> dict[str, str]:
    """Number → question, of the notebooks whose answers stand first."""
    questions = {notebook.name[:2]: notebook.question for notebook in notebooks(study)}
    first = [next(filter(questions.__contains__, numbers), None) for numbers in HEADLINES]
    return {number: questions[number] for number in first if number}


def answers(study: "Study", measured: Measured) -> pandas.DataFrame:
    """A line a notebook, in reading order: its question and its answer."""
    rows = {
        one.name: {"question": one.question, "answer": answer(measured, one.name[:2])} for one in notebooks(study)[1:]
    }
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("notebook")


def answer(measured: Measured, number: str) -> str:
    return measured.get(number, {}).get("answer", NOT_RUN)
