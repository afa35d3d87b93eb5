"""What the four papers claim, and what a study's runs say of it: every claim, by one rule; trains nothing.

A claim is about a pair of systems, or about a size that can be counted (`fidelity.COMPUTED`). The tests of one paper's
claims are corrected (Holm) within a `family`, the claims that one notebook tests together, and a metric.  A pair one
of whose models has not learnt, being nowhere better than the trivial baseline, shows nothing.
As a reader sees them: `verdicts`.
"""

import re
from typing import TYPE_CHECKING

import numpy
import pandas
from scipy.stats import norm

from as2lib.metrics import significance, threshold
from as2lib.papers import fidelity
from as2lib.papers.cascade import systems as cascade_systems
from as2lib.papers.cascade import tables as cascade_tables
from as2lib.papers.cascade.systems import Scheme
from as2lib.papers.cerberus import longer
from as2lib.papers.cerberus import systems as cerberus_systems
from as2lib.papers.cosinet import systems as cosinet_systems
from as2lib.papers.govern import systems as govern_systems
from as2lib.papers.kinds import plan as kinds
from as2lib.runs.results import by_question, compare, frame, mean_and_spread, published
from as2lib.runs.run import prefix_of
from as2lib.runs.wording import number

if TYPE_CHECKING:
    from as2lib.study import Study

VERDICTS = ("reproduced", "contradicted", "within the margin", "inconclusive", "not testable here")
SIGNS = {"better": ">", "equal": "=", "equal or better": "≥"}
POWER, SAMPLES = 0.8, 200  # of the smallest effect; bootstrap samples of questions
SCHEME = re.compile(r"(MT|SR|CT)-(\d+)(?:-(0\.\d))?/(wide|target|TREC-QA)")  # the paper's layers, and alpha
TESTED = ["seeds", "difference", "low", "high", "p Holm", "p equal", "smallest effect"]
BASELINE = "overlap_then_rank"  # the scorer of WO+RR
NOT_LEARNT = "has not learnt"
LEARNT = (
    "Where a trained model of a pair (any of SR's, of a cascade its last exit) is above the trivial baseline WO+RR "
    "neither on the dev set nor on the test set (MAP, mean over seeds), it has not learnt, and the verdict is "
    "inconclusive whatever the tests say."
)
EFFECT = "Smallest effect: what one uncorrected test finds with a power of 0.8 on these questions."
BUDGETS = (
    "A system that was also trained longer (13_budget, 10_govern) is judged by those longer fits, except beside one of "
    "the same paper that has only the short ones: then both have the short budget."
)


def listed() -> pandas.DataFrame:
    """Every claim, one a row, as the papers' `claims.csv` have them, with `paper` before."""
    return pandas.concat(
        [published(f"{paper}_claims").assign(paper=paper) for paper in fidelity.NAMES], ignore_index=True
    ).fillna({"test": "", "b": "", "set": "", "metric": "", "says": ""})


def verdict(claim: str, difference: float, p_different: float, p_equal: float, alpha: float) -> str:
    """What the tests of a pair say of a claim, "better", "equal" or "equal or better": one of `VERDICTS`.

    Different is a small p of a difference, equal a small p of equality within the margin.  "within the margin": equal,
    where better is claimed; "contradicted": a real difference the other way, or any where equality is claimed.
    """
    different, equal = bool(p_different < alpha), bool(p_equal < alpha)
    better = different and difference > 0
    if {"better": better, "equal": equal, "equal or better": equal or better}[claim]:
        return "reproduced"
    if equal:
        return "within the margin"
    return "contradicted" if different else "inconclusive"


def examined(study: "Study", table: pandas.DataFrame) -> pandas.DataFrame:
    """Claims as `listed` has them, with this study's systems, what `tested` finds of each pair, `verdict`, `reason`."""
    table = at_the_larger_budget(study, in_this_study(study, table))
    table["reason"] = [reason(study, row) for row in table.itertuples()]
    counted = table["claim"] == "counted"
    ready = table[~counted & (table["reason"] == "")]
    groups = ready.groupby(["paper", "family", "metric"], sort=False)
    tests = [tested(study, rows, metric) for (_, _, metric), rows in groups]
    table = table.join(pandas.concat(tests)) if tests else table.assign(**dict.fromkeys(TESTED, numpy.nan))
    table.loc[counted, "difference"] = [fidelity.computed(study, row.a, row.b) for row in table[counted].itertuples()]
    table["verdict"] = [_verdict(row, study.significance.alpha) for _, row in table.iterrows()]
    for place in table.index[table["verdict"].isin(VERDICTS[:3]) & ~counted]:
        if why := not_learnt(study, table.loc[place, "a"], table.loc[place, "b"]):
            table.loc[place, ["verdict", "reason"]] = "inconclusive", why
    return table


def in_this_study(study: "Study", table: pandas.DataFrame) -> pandas.DataFrame:
    """The same with what this study calls the systems of a second target, and those that depend on its own depths."""
    here = {cerberus_systems.SECOND + row: prefix for prefix, row in cerberus_systems.rows_on_second(study).items()}
    ours = {row: prefix for prefix, row in cerberus_systems.stands_for(study).items()}
    for layers in cerberus_systems.HEAD_DEPTHS:
        row = f"mhs/{cerberus_systems.HEADS}h{layers}"
        here[row] = ours.get(row, f"MHS {row[4:].upper()} of {cerberus_systems.PAPER_DEPTH} layers")
    if study.govern and (teacher := govern_systems.teacher_of_the_size(study)):
        here[govern_systems.OF_THE_SIZE] = teacher
    return table.assign(**{name: table[name].replace(here) for name in ("a", "b")})


def at_the_larger_budget(study: "Study", table: pandas.DataFrame) -> pandas.DataFrame:
    """The claims of systems that were trained longer, about those, the better evidence.

    A claim of two systems with the short budget of one paper moves only where both were.
    """
    trained = longer.called(study).keys() | kinds.called(study).keys()
    longest = {prefix.removeprefix(longer.BEFORE): prefix for prefix in trained}
    short = {prefix for prefix, system in cerberus_systems.systems(study).items() if system.kind != "trivial"}
    if study.govern:
        longest |= govern_systems.trained_longer(study)
        short |= set(govern_systems.students(study))
    moves = [*longest, *({prefix_of(run) for run in study.plan} - short)]
    fair = table["a"].isin(moves) & table["b"].isin(moves)
    return table.assign(**{name: table[name].mask(fair, table[name].replace(longest)) for name in ("a", "b")})


def _verdict(row: pandas.Series, alpha: float) -> str:
    if row["reason"]:
        return "not testable here"
    if row["claim"] == "counted":
        apart = abs(row["difference"] - row["published"])
        return "reproduced" if apart <= row["tolerance"] / 100 * abs(row["published"]) else "contradicted"
    return verdict(row["claim"], row["difference"], row["p Holm"], row["p equal"], alpha)


def names_of(study: "Study") -> dict[str, str]:
    """What the catalogues call the systems; those of the cascade's depths are told by `verdicts.called`."""
    rooms = {govern_systems: study.govern, cosinet_systems: study.cosinet, cerberus_systems: True}  # room → is there
    there = [room for room, section in rooms.items() if section]
    found = {prefix: system.name for room in there for prefix, system in room.systems(study).items()}
    found |= {prefix: system.name for room in (longer, kinds) for prefix, system in room.called(study).items()}
    recipes = cascade_systems.RECIPES.values()
    found |= {f"{one.prefix}/wide": f"cascade, {one.label.split(':')[0]}" for one in recipes}
    for one in cerberus_systems.direct(study):  # whose short names leave out the model
        found |= {one.prefix: one.label, longer.BEFORE + one.prefix: one.label + longer.ADDED}
    return found


def reason(study: "Study", row) -> str:
    """Why a claim cannot be tested here; empty where it can."""
    if row.claim == "counted":
        return ""
    if row.test == "judges":
        return "people judged two live systems"
    for name in (row.a, row.b):
        needed = runs_of(study, name)
        if not needed:
            return f"the study has no {name}"
        if study.store.missing(needed):
            return f"{name} is planned, not run"
    return ""


def not_learnt(study: "Study", a: str, b: str) -> str:
    """Which trained model of a pair is above the trivial baseline on neither of the sets that it is scored on.

    Dev alone would be another corpus for some, the test set alone a knife's edge.  Empty where all have learnt, or
    where the study ranks neither set by the trivial baseline.
    """
    baselines = [run for run in study.plan.values() if run.spec.get("scorer") == BASELINE]
    for who, system in (("the rival", b), ("the system itself", a)):
        for name in _learners(study, system):
            run, below = study.plan[runs_of(study, name)[0]], []
            for split, called in (("dev", "dev"), ("test", "the test set")):
                trivial = [one.name for one in baselines if one.data.get(split) == run.data.get(split, "")]
                if trivial and run.kind != "lexical":
                    scores = {"own": scores_of(study, name, split), "trivial": scores_of(study, trivial[0], split)}
                    found = mean_and_spread(frame(scores))["MAP"]
                    said = f"MAP {number(found['own'])}, WO+RR {number(found['trivial'])} on {called}"
                    below.append(said if found["own"] <= found["trivial"] else "")
            if below and all(below):
                return f"{who} {NOT_LEARNT}: {'; '.join(below)}"
    return ""


def _learners(study: "Study", name: str) -> list[str]:
    """The systems that have to have learnt where this one is judged."""
    if not (found := SCHEME.fullmatch(name)) or found[1] == "MT":
        return [name]
    if found[1] == "CT":
        return [f"CT-{cascade_systems.PAPER_EXITS[-1]}/{found[4]}"]
    models = [f"MT-{n}/{found[4]}" for n in cascade_systems.PAPER_EXITS if n <= int(found[2])]
    return [model for model in models if runs_of(study, model)]


def runs_of(study: "Study", name: str) -> list[str]:
    """The runs behind a system of a claim; none where the study plans none."""
    prefixes = [name]
    if SCHEME.fullmatch(name):
        scheme, where = scheme_of(study, name)
        if scheme is None:
            return []
        prefixes = scheme.prefixes(study, where)
    planned = {prefix_of(run) for run in study.plan}
    return [run for one in prefixes for run in study.store.below(one)] if planned >= {*prefixes} else []


def scheme_of(study: "Study", name: str) -> tuple[Scheme | None, str]:
    """The cascade's scheme of that name, with this study's exits in the place of the paper's, the full depth alike."""
    method, layers, alpha, where = SCHEME.fullmatch(name).groups()
    ours = study.cascade.exits[::-1] if study.cascade else []
    layers = dict(zip(cascade_systems.PAPER_EXITS[::-1], ours, strict=False)).get(int(layers))
    alpha = float(alpha) if alpha else 0.0 if method == "CT" else None
    return (Scheme(method, layers, alpha) if layers else None), where


def scores_of(study: "Study", name: str, split: str = "test") -> list[pandas.DataFrame]:
    """What a system of a claim scored on a set, a table a seed."""
    if SCHEME.fullmatch(name):
        return cascade_tables.scored(study, *scheme_of(study, name), split)
    return [study.run(run).scores(split) for run in runs_of(study, name)]


def tested(study: "Study", rows: pandas.DataFrame, metric: str) -> pandas.DataFrame:
    """`TESTED` of a family's claims, in points: differences, their tests, and the smallest effect to be seen.

    Of means over questions also what else `results.compare` gives.
    """
    pairs = list(zip(rows["a"], rows["b"], strict=True))
    scores = {name: scores_of(study, name) for name in dict.fromkeys(name for pair in pairs for name in pair)}
    counts = [f"{len(scores[a])} and {len(scores[b])}" for a, b in pairs]
    if metric in ("MAP", "P@1"):
        tests = compare(study, scores, pairs, metric, draw_seeds=True)
        values = {name: table.mean(axis=1) for name, table in by_question(frame(scores), metric).items()}
        alpha = study.significance.alpha
        sizes = [100 * significance.smallest_effect(values[a], values[b], alpha, POWER) for a, b in tests.index]
        tests = tests.assign(**{"smallest effect": sizes})
    else:
        tests = over_thresholds(study, scores, pairs, metric)
    return tests.loc[pairs].set_axis(rows.index).assign(seeds=counts)


def over_thresholds(study: "Study", scores: dict, pairs: list[tuple[str, str]], metric: str) -> pandas.DataFrame:
    """As `results.compare` for "q R@P", "qp R@P" (at the study's last precision) and "qp prAUC", which are no means.

    The standard error of a difference comes from bootstrap samples of questions, seeds' means in each; p of a
    difference and of equality are those of a normal test.
    """
    precision, margin = study.govern.precisions[-1], study.significance.margin
    values, generator = {}, numpy.random.default_rng(0)
    questions = scores[pairs[0][0]][0]["question_id"].nunique()
    drawn = generator.multinomial(questions, numpy.full(questions, 1 / questions), size=SAMPLES)
    counts = numpy.vstack([numpy.ones(questions), drawn])  # first the questions themselves
    for name, tables in scores.items():
        columns = [(one["question_id"], one["label"], one["score"]) for one in tables]
        values[name] = numpy.mean([threshold.resampled(*one, counts, metric, precision) for one in columns], axis=0)
    rows = {}
    for a, b in dict.fromkeys(pairs):
        gap, error = values[a][0] - values[b][0], (values[a] - values[b])[1:].std(ddof=1)
        sure = max(error, 1e-12)
        row = {"difference": gap, "low": gap - 1.96 * error, "high": gap + 1.96 * error}
        row |= {"smallest effect": significance.smallest_shown(error, study.significance.alpha, POWER)}
        row = {key: 100 * value for key, value in row.items()}
        rows[a, b] = row | {"p Holm": 2 * norm.sf(abs(gap) / sure), "p equal": norm.sf((margin - abs(gap)) / sure)}
    found = pandas.DataFrame.from_dict(rows, orient="index")
    return found.assign(**{name: significance.holm(found[name]) for name in ("p Holm", "p equal")})
