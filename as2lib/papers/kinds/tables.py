"""Notebook 14: students of teachers of three kinds beside their twins of one: tables and sentences; runs nothing."""

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics.agreement import agreement, rank_correlation
from as2lib.papers.cerberus.systems import systems
from as2lib.papers.cerberus.tables import notes, numbers
from as2lib.papers.cosinet.systems import MODELS
from as2lib.papers.kinds.plan import before, pairs, same_teachers, teachers
from as2lib.runs import results
from as2lib.runs.wording import apart, listed, number, span

if TYPE_CHECKING:
    from as2lib.study import Study

# k heads, of as many teachers: head i learnt from teacher i
HEADED = "mhs/3h1"
# The paper's teachers are of three families in every row but Hydra's, which are all of the student's own.
PAPERS_TWINS = {HEADED: "hydra/3h1"}
TESTED = ["difference", "low", "high", "p", "p Holm", "p equal"]


def names(study: "Study") -> dict[str, str]:
    """What tables call the teachers, and each student and its twin, by their prefixes."""
    known, words = systems(study), {model.prefix: model.label for model in MODELS}
    short = {**{prefix: system.name for prefix, system in known.items()}, **words}
    found = {prefix: short[prefix.removeprefix(before(study))] for prefix in [*same_teachers(study), *teachers(study)]}
    for of_kinds, twin in pairs(study):
        student = short[twin.removeprefix(before(study))]
        found |= {twin: f"{student}, one kind", of_kinds: f"{student}, three kinds"}
    return found


def table(study: "Study") -> pandas.DataFrame:
    """A row a teacher, then each student taught by one kind and by three: percent, mean over `kinds.seeds`.

    Columns: run; taught by; teachers alike (rank correlation of two of its teachers within a question, mean over pairs
    of them); dev MAP; MAP and P@1 on the test set; of three kinds minus one, as `results.compare` gives them:
    difference (points of MAP), low, high, p, p Holm, p equal; published P@1 and MAP, of CERBERUS Table 3 (IAS2).
    """
    called, taught = names(study), _taught(study)
    means = {split: results.mean_and_spread(results.frame(scored(study, called, split))) for split in ("dev", "test")}
    tests = results.compare(study, scored(study, taught), pairs(study)).droplevel("b")
    likeness = {tuple(by): alike(study, by) for by in taught.values()}
    found = pandas.DataFrame({"run": list(called)}, list(called))
    found["taught by"] = pandas.Series({student: listed([called[one] for one in by]) for student, by in taught.items()})
    found["teachers alike"] = pandas.Series({student: likeness[tuple(by)] for student, by in taught.items()})
    found["dev MAP"] = means["dev"]["MAP"]
    found = found.join([means["test"][["MAP", "P@1"]], _published(study), tests[TESTED]])
    return found.fillna({"taught by": ""}).set_axis(list(called.values())).rename_axis("system")


def runs_behind(study: "Study", found: pandas.DataFrame) -> dict[str, list[str]]:
    """Row → the runs that it was read from: those of the seeds of `kinds` alone.  found: from `table`."""
    return {system: [f"{run}/seed-{seed}" for seed in study.kinds.seeds] for system, run in found["run"].items()}


def caption(study: "Study") -> str:
    seeds, alpha = ", ".join(map(str, study.kinds.seeds)), study.significance.alpha
    return (
        f"Test set, answered questions; {results.TIE_RULE}. Percent, seed{'s' * (len(study.kinds.seeds) > 1)} {seeds}. "
        "Teachers alike: rank correlation of two teachers' scores within a question, mean over pairs of teachers. "
        "Difference: points of MAP, three kinds minus one, of the same seeds (00_overview: of all), with its 95 % "
        "bootstrap interval over questions; p: Wilcoxon (Pratt), p equal: TOST within the study's margin; p Holm and p "
        f"equal are corrected over these rows, and count below {alpha:g}. Published: CERBERUS Table 3, IAS2, which is "
        "private: its teachers are of three families, and one kind is its Hydra, whose teachers are of the student's "
        f"own family. {notes(study)}"
    )


def heads(study: "Study") -> pandas.DataFrame:
    """A row a head of MHS: its mean rank correlation with its own teacher, and the other heads' with that teacher.

    Columns: student, head (from 1), teacher, own, other heads, difference; over `kinds.seeds`.  Empty where MHS is none
    of the rows.
    """
    called, rows = names(study), []
    for student, by in _taught(study).items():
        if not student.startswith(f"{before(study)}{HEADED}"):
            continue
        squares = []
        for own, *others in zip(*scored(study, [student, *by]).values(), strict=True):
            theirs = numpy.stack([table["score"] for table in others], axis=1)
            squares.append(agreement(own.filter(like="head_"), theirs, own["label"], own["question_id"]).correlation)
        square = numpy.mean(squares, axis=0)  # (k, k): head, teacher
        for i, teacher in enumerate(by):
            row = {"student": called[student], "head": i + 1, "teacher": called[teacher], "own": square[i, i]}
            row["other heads"] = numpy.delete(square[:, i], i).mean()
            rows.append(row | {"difference": row["own"] - row["other heads"]})
    return pandas.DataFrame(rows).set_index("student") if rows else pandas.DataFrame()


def sentences(study: "Study", found: pandas.DataFrame) -> list[str]:
    """How far the teachers differ, and what each student has of it.  found: from `table`."""
    rows = found.reset_index().set_index("run")
    kinds, one = pairs(study)[0]
    alike, maps = (number(rows.loc[student, "teachers alike"], 2) for student in (one, kinds)), rows["MAP"]
    reach = [span(maps[by].min(), maps[by].max()) for by in (same_teachers(study), teachers(study))]
    return [
        "Two teachers of one kind rank a question's candidates with a correlation of {}, two of three kinds with one "
        "of {}.".format(*alike),
        "Alone the teachers of one kind have MAP {}, those of three kinds {}.".format(*reach),
        *(results.reading(study, rows.loc[new, "system"], rows.loc[new]) for new, _ in pairs(study)),
    ]


def sentences_heads(found: pandas.DataFrame) -> list[str]:
    """found: from `heads`."""
    said = []
    for student, rows in found.groupby(level=0, sort=False):
        said.append(
            f"{student}: a head's rank correlation with its own teacher is {number(rows['own'].mean(), 3)} on average, "
            f"the other heads' with that teacher {number(rows['other heads'].mean(), 3)}."
        )
    return said


def answer(study: "Study", found: pandas.DataFrame) -> str:
    """The first student's whole, of the others what three kinds change.  found: from `table`."""
    rows, said = found.reset_index().set_index("run"), []
    for new, twin in pairs(study):
        row, paper = rows.loc[new], rows.loc[new, "published MAP"] - rows.loc[twin, "published MAP"]
        stands, verdict = apart(row["difference"], "its twin of one kind"), results.verdict(study, row)
        if said:
            said.append(f"{row['system']}, is {stands}: {verdict}.")
        else:
            stands += "" if pandas.isna(paper) else f" (the paper, on IAS2: {apart(paper, 'Hydra')})"
            said.append(f"{row['system']}, has MAP {number(row['MAP'])}, {stands}: {verdict}.")
    return " ".join(said)


def recorded(found: pandas.DataFrame) -> dict[str, float]:
    """found: from `table`."""
    return numbers(found[found["taught by"] != ""], "MAP", "P@1", "difference")


def scored(study: "Study", prefixes: Iterable[str], split: str = "test") -> dict[str, list[pandas.DataFrame]]:
    """As `results.scored`, of the seeds of `kinds` alone."""
    return {one: [study.run(f"{one}/seed-{seed}").scores(split) for seed in study.kinds.seeds] for one in prefixes}


def alike(study: "Study", by: list[str]) -> float:
    """The rank correlation of two teachers' test scores within a question, mean over questions, pairs and seeds."""
    found = []
    for tables in zip(*scored(study, by).values(), strict=True):
        answered = tables[0].groupby("question_id")["label"].transform("max") == 1
        for a, b in combinations(tables, 2):
            one, other, question = (column[answered] for column in (a["score"], b["score"], a["question_id"]))
            found.append(rank_correlation(one, other, question).mean())
    return float(numpy.mean(found))


def _taught(study: "Study") -> dict[str, list[str]]:
    """Student → its teachers: each twin of one kind, and behind it the student of three."""
    kinds, same = teachers(study), same_teachers(study)
    return {student: by for new, twin in pairs(study) for student, by in ((twin, same), (new, kinds))}


def _published(study: "Study") -> pandas.DataFrame:
    paper, found = results.published("cerberus_table3"), {}
    for new, twin in pairs(study):
        row = twin.removeprefix(before(study))
        for prefix, theirs in ((new, row), (twin, PAPERS_TWINS.get(row, ""))):
            found[prefix] = results.published_row(paper, theirs, "IAS2")
    return pandas.DataFrame.from_dict(found, orient="index")[["published MAP", "published P@1"]]
