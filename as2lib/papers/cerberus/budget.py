"""Notebook 13: rows of Table 2 at the study's budget and at the larger one, beside each other; runs nothing."""

from typing import TYPE_CHECKING

import pandas

from as2lib.papers.cerberus.longer import BEFORE, GRID, TRIED, called, fits
from as2lib.papers.cerberus.plan import steps
from as2lib.papers.cerberus.systems import systems
from as2lib.papers.cerberus.tables import better, notes, on_wikiqa, tested
from as2lib.runs import costs, results
from as2lib.runs.wording import changed, listed, number, signed, some, spread_text

if TYPE_CHECKING:
    from as2lib.study import Study

TRIVIAL, ALONE, STUDENT, HEADS = "lexical/overlap_then_rank", "base/electra", "kd/electra", "mhs/3h1"
LARGE = "teacher/electra"
AMONG = [  # the comparisons that the paper is about
    (STUDENT, ALONE), (HEADS, ALONE), (HEADS, STUDENT), (HEADS, "ensemble/distilled"), (LARGE, ALONE), (HEADS, LARGE),
    *((HEADS, other) for other in ("kd/electra-sum", "kd/electra-robin", "mhs/3h1-one-teacher", "mhs/3h1-no-teacher")),
]  # fmt: skip


def table(study: "Study") -> pandas.DataFrame:
    """A row a system: P@1 and MAP at both budgets in percent, over their seeds, and what the larger one changes.

    Columns: run, parameters, P@1 and MAP with " ±" at the study's budget and, behind "longer", at the larger one;
    difference (MAP, points), low, high, p Holm as `results.compare` gives them; published P@1 and MAP.
    """
    if not study.longer:
        raise ValueError(f"{study.study} has no section `longer`, which this notebook is about; `wikiqa` has one")
    named, shorter = systems(study), [row.removeprefix(BEFORE) for row in called(study)]
    rows, columns = [named[TRIVIAL], *(named[row] for row in shorter)], ["P@1", "MAP", "MAP ±"]
    own = results.table(study, rows, beside=on_wikiqa(), dataset=results.published_set(study))
    longer = results.mean_and_spread(results.frame(results.scored(study, called(study))))[columns].set_axis(shorter)
    tests = tested(study, [(BEFORE + row, row) for row in shorter]).droplevel("a")
    longer = longer.add_prefix("longer ").join(tests[["difference", "low", "high", "p Holm"]])
    found = own[["run", "parameters", *columns]].join(longer, on="run")
    return found.join(own[["published P@1", "published MAP"]])


def computing(study: "Study") -> str:
    """How the rows at the larger budget are computed, where the study's own are computed otherwise; else nothing."""
    both = (study.longer, study)
    said = [f"in {one.precision} {'with' if one.kernels else 'without'} the kernels of fits" for one in both]
    return f"{said[0]}, where the others are {said[1]}" if said[0] != said[1] else ""


def other_changes(study: "Study") -> str:
    """What else than the budget differs between the two, as part of a sentence; empty where nothing does."""
    names = ("precision", "kernels", "seeds")
    found = [name for name in names if getattr(study.longer, name) != getattr(study, name)]
    if (direct := study.longer.without_transfer) and direct.learning_rate != study.fit.direct.learning_rate:
        found.append("the rate of fits without transfer")
    return f" (with it change {listed(found)})" if found else ""


def caption(study: "Study") -> str:
    """Below `table`: policy, seeds, both budgets, what else differs, and the published table."""
    longer, seeds = study.longer, lambda found: f"seed{'s' * (len(found) > 1)} {', '.join(map(str, found))}"
    otherwise = f"; {found}" if (found := computing(study)) else ""
    once, direct = f"Rows without a spread there: {seeds(longer.seeds[:1])}. " if longer.once else "", ""
    if own := longer.without_transfer:
        before = study.fit.direct
        direct = (
            f"Without transfer: {seeds(longer.seeds[:1])}, at most {own.steps:,} steps at a rate of "
            f"{own.learning_rate:g}, against {before.steps:,} at {before.learning_rate:g}. "
        )
    return (
        f"Test set, answered questions; {results.TIE_RULE}. Percent, {seeds(study.seeds)}; longer: "
        f"{seeds(longer.seeds)}, {steps(study, BEFORE + 'transfer/')} of transfer, by its set, and at most "
        f"{longer.adapt.steps:,} of adapt, against {steps(study, 'transfer/')} and {study.fit.adapt.steps:,}"
        f"{otherwise}. {once}{direct}Difference: longer minus shorter, points of MAP, with its 95 % bootstrap interval "
        f"over questions. Published: {results.published_set(study)}, CERBERUS Table 2. {notes(study)}"
    )


def among(study: "Study") -> pandas.DataFrame:
    """`results.compare` of systems at the larger budget, index (a, b): what a teacher, heads, and strategies bring."""
    rows = called(study)
    pairs = [(BEFORE + a, BEFORE + b) for a, b in AMONG if {BEFORE + a, BEFORE + b} <= set(rows)]
    return tested(study, pairs)


def names(study: "Study") -> dict[str, str]:
    """Run prefix at the larger budget → its system's short name: all rows here are of that budget."""
    shorter = systems(study)
    return {prefix: shorter[prefix.removeprefix(BEFORE)].name for prefix in called(study)}


def once(study: "Study") -> list[str]:
    """The prefixes of the rows at the larger budget that have their first seed alone."""
    return [BEFORE + row for row in study.longer.once]


def tried(study: "Study") -> pandas.DataFrame:
    """A row a point of `longer.grid`, the study's own, and without dropout: run, alpha, tau; P@1, MAP on dev, percent.

    Empty where nothing was tried.
    """
    grid = [name for name in study.plan if name.startswith(GRID)]
    if not grid:
        return pandas.DataFrame()
    runs = {name: study.plan[name].spec for name in [f"{BEFORE}{TRIED}/seed-{study.longer.seeds[0]}", *grid]}
    means = results.mean_and_spread(results.frame({name: [study.run(name).scores("dev")] for name in runs}))
    rows = [{"run": name, "alpha": spec["alpha"], "tau": spec["tau"], **means.loc[name]} for name, spec in runs.items()]
    found = pandas.DataFrame(rows).sort_values(["alpha", "tau"])
    points = "alpha " + found["alpha"].map("{:g}".format) + ", tau " + found["tau"].map("{:g}".format)
    points += found["run"].map(lambda name: ", no dropout" * ("model" in runs[name]))
    return found.set_index(points.rename("point"))


def caption_tried(study: "Study") -> str:
    own, seed, student = study.distillation, study.longer.seeds[0], systems(study)[TRIED].name
    dropped = " Without dropout: in this step, not in the transfer step." if study.longer.without_dropout else ""
    return (
        f"Dev set, answered questions; {results.TIE_RULE}. Percent, seed {seed}: {student}, always with the same start "
        f"and teacher.{dropped} The study's own are alpha {own.alpha:g} and tau {own.tau:g}, which the rows of "
        "Table 13.1 use."
    )


def sentences_tried(study: "Study", found: pandas.DataFrame) -> list[str]:
    """Where the study's own alpha and tau stand among those tried.  found: from `tried`."""
    if found.empty:
        return []
    best, worst = found["MAP"].idxmax(), found["MAP"].idxmin()
    here = found.loc[~found["run"].str.startswith(GRID), "MAP"].item()
    return [
        f"Of {len(found)} points dev ranks {best} first, with MAP {number(found.loc[best, 'MAP'])}, and {worst} last, "
        f"with {number(found.loc[worst, 'MAP'])}; the study's own point has {number(here)}."
    ]


def sentences(study: "Study", found: pandas.DataFrame) -> list[str]:
    """What the larger budget changes.  found: from `table`."""
    trained = found.iloc[1:]
    single = trained[~trained["run"].str.startswith("ensemble/")]
    above = int((single["longer MAP"] > found["MAP"].iloc[0]).sum())
    gain = changed(trained["difference"].min(), trained["difference"].max())
    return [
        f"The larger budget{other_changes(study)} {gain}; it makes a real difference for the better to "
        f"{some(len(better(study, trained)), len(trained), 'systems')} (Wilcoxon, Holm-corrected).",
        f"Above the trivial baseline are {some(above, len(single), 'single models')} at the larger budget.",
        f"Members of ensembles counted: {results.sentence_ends(study, fits(study))}",
    ]


def answer(study: "Study", found: pandas.DataFrame, tests: pandas.DataFrame) -> str:
    """found: from `table`.  tests: from `among`."""
    rows = found.set_index("run")
    others = {
        "ensemble/distilled": "the ensemble of three distilled students",
        STUDENT: "the base model with one teacher",
        ALONE: "the base model without a teacher",
        LARGE: "the large model that teaches a head",
    }
    beside: dict[str, list[str]] = {}  # what the tests say → of which others, and how far MHS is from them
    for prefix, other in others.items():
        if (BEFORE + HEADS, BEFORE + prefix) in tests.index:
            row = tests.loc[(BEFORE + HEADS, BEFORE + prefix)]
            beside.setdefault(_stands(study, row), []).append(f"{other} ({signed(row['difference'])})")
    words, needs = costs.lengths(study), []
    for prefix, other in ((ALONE, "the base model"), (LARGE, "the large model")):
        if prefix in rows.index:
            work = [costs.work(study, study.runs(one)[0].run, words).candidate for one in (HEADS, prefix)]
            size = rows.loc[HEADS, "parameters"] / rows.loc[prefix, "parameters"]
            needs.append(f"{size:.2f} times the parameters and {work[0] / work[1]:.2f} times the operations of {other}")
    mhs, alone = (rows.loc[one, ["MAP", "longer MAP", "longer MAP ±"]] for one in (HEADS, ALONE))
    stands = "; ".join(f"{said} {listed(where)}" for said, where in beside.items())
    changes = f"The larger budget{other_changes(study)} takes"
    return (
        f"With the larger budget MHS has MAP {spread_text(*mhs.iloc[1:])}: in points of MAP it is {stands}. "
        f"It needs {', '.join(needs)}. {changes} the base model without a teacher from {number(alone.iloc[0])} to "
        f"{number(alone.iloc[1])}, and MHS from {number(mhs.iloc[0])}."
    )


def _stands(study: "Study", row: pandas.Series) -> str:
    """What the tests of a row of `among` say, before the name of the other."""
    alpha = study.significance.alpha
    if row["p Holm"] < alpha:
        return "above" if row["difference"] > 0 else "below"
    return "equal within the margin to" if row["p equal"] < alpha else "neither shown apart from nor equal to"
