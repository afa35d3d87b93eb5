"""What the papers claim of pairs of systems, and what a study's runs say of it, by one rule; trains nothing.

A claim is a pair (a, b) of which a paper says that a is better than b, equal to it, or not worse.  It is judged by the
95 % interval over questions and seeds of our difference a − b: a gain by the paper's difference, equality by a margin.
docs/statistics.md has the rules.  Counted numbers: `fidelity`.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import pandas

from as2lib.metrics import significance
from as2lib.papers import paper_tables
from as2lib.papers.cascade import analyses as cascade
from as2lib.papers.cascade.rows import PAPER_EXITS, WAYS, Scheme
from as2lib.papers.cerberus import analyses
from as2lib.papers.cerberus import rows as cerberus
from as2lib.papers.govern import analyses as govern
from as2lib.papers.pair_sets import published_set
from as2lib.study import Study, results

MARGIN = 0.8  # points of MAP, of the headline comparisons: that of CERBERUS's claims of equality
SECTIONS = {"Cascade Transformer": "cascade", "Cosinet": "cosinet", "GOVERN": "govern"}  # of a study's file
SIGNS = {"better": ">", "equal": "=", "equal or better": "≥", "little worse at most": "≳"}
COUNTED = "counted"  # a claim about one system, of which questions or heads are counted
SAME_DIRECTION = "same direction"  # of a claim for which the paper prints no difference
NOT_TESTABLE = "not testable here"
INTERVAL = ["difference", "low", "high", "seeds", "smallest seen"]  # of `results.compare`
COLUMNS = ["claim", "set", "metric", "published", *INTERVAL]
COLUMNS += ["margin", "margin from", "verdict", "reason", "test", "source", "a", "b"]
TARGET = "target"  # the set of a claim whose difference Table 2 of CERBERUS has for each of its sets
WAY_LABELS = {f"{way.name}/wide": f"cascade, {way.label}" for way in WAYS[1:]}
EACH_STUDENT = "each student"  # a claim about the student of each teacher, one by one
NO_TEACHER = "no teacher of this study stands beside the paper's"
ONE_SEED = "one seed: another fit may say otherwise"
COARSE = 10.0  # points: no claim is of as much as what could be seen above it
TOO_COARSE = "a difference below ten points could not be seen"


class Side(NamedTuple):
    """What stands here for a claim's system a or b: a system of the study, or a scheme of the cascade on a set."""

    name: str  # "" where nothing does
    label: str
    systems: tuple[str, ...] = ()  # behind it
    scheme: Scheme | None = None
    where: str = ""


def listed(study: Study) -> pandas.DataFrame:
    """Every claim of the four papers, as `claims.csv` has it; of the target's set the difference is from Table 2."""
    texts = dict.fromkeys(["a", "b", "where", "says", "margin from", "about families", "not here"], "")
    claims = paper_tables.of_every_paper(study, "claims").fillna({"test": "none named"} | texts)
    students = [f"{EACH_STUDENT}/{teacher}" for teacher in study.teachers]
    for of in ("a", "b"):
        names = [students if name == EACH_STUDENT else [name] for name in claims[of]]
        claims = claims.assign(**{of: names}).explode(of, ignore_index=True)
    place = published_set(study)
    table2 = paper_tables.published(study, "cerberus", "table2")[place]
    for i, claim in claims[claims["set"] == TARGET].iterrows():
        claims.loc[i, "published"] = results.published_difference(table2, claim["a"], claim["b"], claim["metric"])
    return claims.replace({"set": {TARGET: place}})


def table(study: Study, papers: Collection[str] = tuple(paper_tables.PAPERS.values())) -> pandas.DataFrame:
    """Every claim of those papers that the study has a section for, with its verdict here; the untestable ones last.

    Index `paper`; columns `COLUMNS`.  difference, low, high: points, a − b, over questions and the seeds that both
    have.  reason: why a claim is not testable here; what is measured all the same has its numbers.  set: the paper's; a
    claim of a set that no study here has is judged on the target.
    """
    here = [paper for paper in papers if paper not in SECTIONS or getattr(study, SECTIONS[paper])]
    claims = listed(study).loc[lambda claims: claims["paper"].isin(here)].to_dict("records")
    pairs = [(side(study, claim, "a"), side(study, claim, "b")) for claim in claims]
    reasons = [why_not(study, claim, *pair) for claim, pair in zip(claims, pairs, strict=True)]
    testable = {}  # paper → its claims: what a seed adds is pooled over these
    for claim, pair, reason in zip(claims, pairs, reasons, strict=True):
        if not reason and claim["claim"] != COUNTED:
            testable.setdefault(claim["paper"], []).append((*pair, claim["metric"]))
    measured = {key: interval for of in testable.values() for key, interval in intervals(study, of).items()}
    rows = []
    for claim, (a, b), reason in zip(claims, pairs, reasons, strict=True):
        row = claim | {"a": a.name, "b": b.name}
        if claim["claim"] == COUNTED:
            row["claim"] = f"{a.label}: {claim['says']}" if claim["a"] else claim["says"]
            judged = NOT_TESTABLE if reason else counted(study, claim["says"])
        else:
            row["claim"] = f"{a.label} {SIGNS[claim['claim']]} {b.label}"
            interval = measured.get((a, b, claim["metric"]))
            if interval and not reason:
                row |= interval
                coarse = claim["paper"] == "GOVERN" and interval["smallest seen"] > COARSE
                reason = ONE_SEED if math.isnan(interval["low"]) else TOO_COARSE if coarse else ""
            judged = NOT_TESTABLE if reason else verdict(claim, interval["low"], interval["high"])
        if claim["metric"] in govern.RECALLS:
            row["metric"] += f"={100 * study.govern.precisions[-1]:.0f}"
        rows.append(row | {"reason": reason, "verdict": judged})
    numbers = dict.fromkeys(["difference", "low", "high", "smallest seen"], float) | {"seeds": "Int64"}
    table = pandas.DataFrame(rows, columns=["paper", *COLUMNS]).set_index("paper").astype(numbers)
    return table.sort_values("verdict", key=lambda verdicts: verdicts == NOT_TESTABLE, kind="stable")


def verdict(claim: Mapping[str, Any], low: float, high: float) -> str:
    """What our interval says of a claim: of a gain `significance.verdict` of the paper's difference, of equality, or of
    a loss that is small at most, `significance.equality` within the claim's margin.

    Of a gain for which the paper prints no difference, or one against its claim, the direction alone is judged.
    """
    published = claim["published"]
    if claim["claim"] != "better":
        return significance.equality(low, high, claim["margin"], one_sided=claim["claim"] != "equal")
    if math.isnan(published) or published <= 0:
        return SAME_DIRECTION if low > 0 else "contradicted" if high < 0 else "undecided"
    return significance.verdict((low + high) / 2, published, low <= 0 <= high, low <= published <= high)


def side(study: Study, claim: Mapping[str, Any], of: str) -> Side:
    """What stands here for a claim's system a or b: a head of as large a share of the layers, a scheme of the cascade
    with this study's exits in the place of the paper's, counted from the deepest.
    """
    name, layers, alpha = claim[of], claim[f"{of} layers"], claim[f"{of} alpha"]
    if not math.isnan(layers):
        exits = dict(zip(PAPER_EXITS[::-1], study.cascade.exits[::-1], strict=False))
        if layers not in exits:
            return Side("", f"the paper's {name} of {layers:.0f} layers")
        scheme, where = Scheme(name, exits[layers], None if math.isnan(alpha) else alpha), claim["where"]
        label = scheme.label + (f" on {where}" if where == "TREC-QA" else "")
        return Side(label, label, tuple(scheme.runs(study, where)), scheme, where)
    heads, depth = f"mhs/{cerberus.PAPER_HEADS}h", cerberus.PAPER_DEPTH
    runs = {f"{heads}{layers}": f"heads of {layers} of {depth} layers" for layers in cerberus.HEAD_DEPTHS}
    runs |= {published: run for run, published in cerberus.stands_for(study).items()}
    runs |= {f"{EACH_STUDENT}/{teacher}": f"student/{teacher}" for teacher in study.teachers}
    runs["mhs/three-of-one-kind"] = cerberus.roles(study).one_kind
    run = runs.get(name) or cerberus.ours(study, name)
    label = study.systems[run].label if run in study.systems else run or f"the paper's {name}"
    return Side(run, WAY_LABELS.get(name, label), (run,) if run else ())


def why_not(study: Study, claim: Mapping[str, Any], a: Side, b: Side) -> str:
    """Why a claim cannot be tested in this study; empty where it can."""
    if claim["not here"]:
        return claim["not here"]
    encoders = [teacher for teacher in study.teachers.values() if not teacher.scores]
    families = {teacher.name or teacher.config["model_type"] for teacher in encoders}
    if claim["about families"] and len(families) < 2:
        return "the teachers of this study are of one family of encoders"
    counted = claim["claim"] == COUNTED
    named = cerberus.ours(study, "teacher/electra") if counted and claim["about families"] else counted or b.name
    if not (a.name and named):
        return NO_TEACHER
    teachers = [f"teacher/{name}" for name in study.teachers] if counted else []
    for name in (*a.systems, *b.systems, *teachers):
        row = study.systems.get(name)
        if row is None or not row.seeds:
            return "not run in this study"
        if not all(study.store.find(run.name) for run in row.runs(study)):
            return f"{row.label} is not run yet"
        if counted and row.seeded and len(row.seeds) == 1:
            return ONE_SEED
    return ""


def intervals(study: Study, claims: Iterable[tuple[Side, Side, str]]) -> dict[tuple[Side, Side, str], dict[str, Any]]:
    """(a, b, metric) → our difference a − b and its interval over questions and seeds, in points; nan of one seed."""
    claims, found = list(dict.fromkeys(claims)), {}
    tables = {}  # of a side, by seed: question_id, label and score on the test set
    for each in dict.fromkeys(each for *pair, metric in claims if metric in results.MEASURES for each in pair):
        if each.scheme:
            tables[str(each)] = cascade.scored(study, each.scheme, each.where)
        else:
            tables[str(each)] = {run.run.number: run.scores() for run in study.runs(each.name)}
    frame = results.frame(tables) if tables else None
    for metric in dict.fromkeys(metric for *_, metric in claims):
        pairs = [(a, b) for a, b, of in claims if of == metric]
        if metric in results.MEASURES:
            tests = results.compare(frame, [(str(a), str(b)) for a, b in pairs], measure=metric)
        else:
            tests = govern.compare(study, [(a.name, b.name) for a, b in pairs], metric)
        for pair, test in zip(pairs, tests[INTERVAL].to_dict("records"), strict=True):
            found[*pair, metric] = test
    return found


def counted(study: Study, says: str) -> str:
    """The verdict on what is counted of MHS, its heads and its teachers: as the paper says it, or not."""
    seeds = analyses.by_seed(study)
    if says == "right where all teachers are":
        questions = [seed.majority() for seed in seeds]
        holds = all((each["student"] | (each["teachers"] < len(study.teachers))).all() for each in questions)
    else:  # heads agree most with ELECTRA
        figure = analyses.figure3(study, analyses.agreements(seeds)["shared"])
        named = figure.dropna(subset="published")
        holds = (named["agrees most with"] == named["published"]).all()
    return "reproduced" if holds else "contradicted"
