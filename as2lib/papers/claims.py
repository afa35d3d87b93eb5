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
SUPPORTED, UNDECIDED, CONTRADICTED, SAME_DIRECTION = "supported", "undecided", "contradicted", "same direction"
NOT_TESTABLE = "not testable here"
VERDICTS = (
    "reproduced",
    "same direction, smaller",
    "same direction, larger",
    SAME_DIRECTION,  # of a claim for which the paper prints no difference
    SUPPORTED,  # of a claim of equality, by its margin
    UNDECIDED,
    "not seen",
    CONTRADICTED,
    NOT_TESTABLE,
)
COLUMNS = [
    *"claim set metric published difference low high seeds".split(),
    *["smallest seen", "margin", "margin from", "verdict", "reason", "test", "source", "a", "b"],
]
TARGET = "target"  # the set of a claim whose difference Table 2 of CERBERUS has for each of its sets
EACH_STUDENT = "each student"  # a claim about the student of each teacher, one by one
NO_TEACHER = "no teacher of this study stands beside the paper's"
ONE_FAMILY = "the teachers of this study are of one family of encoders"
NOT_RUN = "not run in this study"
ONE_SEED = "one seed: another fit may say otherwise"


class Interval(NamedTuple):
    """Of a difference a − b, in points, over questions and seeds; low and high are nan of one seed."""

    difference: float
    low: float
    high: float
    seeds: int
    smallest_seen: float = math.nan


class OnSet(NamedTuple):
    """A scheme of the cascade over its exits, on one of its sets."""

    scheme: Scheme
    where: str

    @property
    def label(self) -> str:
        return self.scheme.label + (f" on {self.where}" if self.where == "TREC-QA" else "")


System = str | OnSet  # the name of a system of the study, "" for none


def listed(study: Study) -> pandas.DataFrame:
    """Every claim of the four papers, as `claims.csv` has it; of the target's set the difference is from Table 2."""
    texts = dict.fromkeys(["a", "b", "where", "says", "margin from", "about families", "not here"], "")
    claims = paper_tables.of_every_paper(study, "claims").fillna({"test": "none named"} | texts)
    students = [[f"{a}/{name}" for name in study.teachers] if a == EACH_STUDENT else [a] for a in claims["a"]]
    claims = claims.assign(a=students).explode("a", ignore_index=True)
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
    claims, scores = listed(study), Scores(study)
    claims = claims[claims["paper"].isin(here)].to_dict("records")
    pairs = [(scores.system(claim, "a"), scores.system(claim, "b")) for claim in claims]
    reasons = [scores.why_not(claim, pair) for claim, pair in zip(claims, pairs, strict=True)]
    testable = [
        (*pair, claim["metric"])
        for claim, pair, reason in zip(claims, pairs, reasons, strict=True)
        if not reason and claim["claim"] != COUNTED
    ]
    intervals = scores.intervals(testable)
    rows = []
    for claim, (a, b), reason in zip(claims, pairs, reasons, strict=True):
        row = claim | {"a": getattr(a, "label", a), "b": getattr(b, "label", b)}
        if claim["claim"] == COUNTED:
            row["claim"] = f"{scores.label(claim, 'a')}: {claim['says']}" if claim["a"] else claim["says"]
            judged = NOT_TESTABLE if reason else scores.counted(claim["says"])
        else:
            row["claim"] = f"{scores.label(claim, 'a')} {SIGNS[claim['claim']]} {scores.label(claim, 'b')}"
            interval = intervals.get((a, b, claim["metric"]))
            if interval and not reason:
                row |= dict(zip(["difference", "low", "high", "seeds", "smallest seen"], interval, strict=True))
                reason = ONE_SEED if math.isnan(interval.low) else ""
            judged = NOT_TESTABLE if reason else verdict(claim, interval)
        if claim["metric"] in govern.RECALLS:
            row["metric"] += f"={100 * study.govern.precisions[-1]:.0f}"
        rows.append(row | {"reason": reason, "verdict": judged})
    numbers = dict.fromkeys(["difference", "low", "high", "smallest seen"], float) | {"seeds": "Int64"}
    table = pandas.DataFrame(rows, columns=["paper", *COLUMNS]).set_index("paper").astype(numbers)
    return table.sort_values("verdict", key=lambda verdicts: verdicts == NOT_TESTABLE, kind="stable")


def counts(table: pandas.DataFrame) -> pandas.DataFrame:
    """How many claims of each paper got each verdict, and all together."""
    if table.empty:
        return pandas.DataFrame()
    counts = paper_tables.by_paper(table, "verdict", VERDICTS)
    counts.loc["all"] = counts.sum()
    return counts


def verdict(claim: Mapping[str, Any], interval: Interval) -> str:
    """What our interval says of a claim: of a gain `significance.verdict` of the paper's difference, of equality, or of
    a loss that is small at most, `significance.equality` within the claim's margin.

    Of a gain for which the paper prints no difference, or one against its claim, the direction alone is judged.
    """
    low, high, published = interval.low, interval.high, claim["published"]
    if claim["claim"] != "better":
        return significance.equality(low, high, claim["margin"], one_sided=claim["claim"] != "equal")
    if math.isnan(published) or published <= 0:
        return SAME_DIRECTION if low > 0 else CONTRADICTED if high < 0 else UNDECIDED
    return significance.verdict(low, high, published)


class Scores:
    """The stored scores behind the systems of claims: runs of a system, or a scheme of the cascade over its exits."""

    def __init__(self, study: Study):
        self.study = study
        self._tables: dict[System, dict[int, pandas.DataFrame]] = {}
        self._runs: dict[str, str] = {}  # a system of the papers → what stands here for it
        for layers in cerberus.HEAD_DEPTHS:
            run = f"mhs/{cerberus.PAPER_HEADS}h{layers}"
            self._runs[run] = f"heads of {layers} of {cerberus.PAPER_DEPTH} layers"
        self._runs |= {published: run for run, published in cerberus.stands_for(study).items()}
        self._runs |= {f"{EACH_STUDENT}/{name}": f"student/{name}" for name in study.teachers}
        self._labels = {f"{way.name}/wide": f"cascade, {way.label}" for way in WAYS[1:]}

    def system(self, claim: Mapping[str, Any], side: str) -> System:
        """What stands here for a claim's system a or b: a head of as large a share of the layers, a scheme of the
        cascade with this study's exits in the place of the paper's, counted from the deepest; "": nothing.
        """
        name, layers, alpha = claim[side], claim[f"{side} layers"], claim[f"{side} alpha"]
        if math.isnan(layers):
            return self._runs.get(name) or cerberus.ours(self.study, name)
        exits = dict(zip(PAPER_EXITS[::-1], self.study.cascade.exits[::-1], strict=False))
        if layers not in exits:
            return ""
        return OnSet(Scheme(name, exits[layers], None if math.isnan(alpha) else alpha), claim["where"])

    def label(self, claim: Mapping[str, Any], side: str) -> str:
        """What a reader calls a claim's system a or b."""
        name, system = claim[side], self.system(claim, side)
        if isinstance(system, OnSet):
            return system.label
        row = self.study.systems.get(system)
        of_paper = name if math.isnan(claim[f"{side} layers"]) else f"{name} of {claim[f'{side} layers']:.0f} layers"
        return self._labels.get(name) or (row.label if row else system or f"the paper's {of_paper}")

    def why_not(self, claim: Mapping[str, Any], systems: tuple[System, System]) -> str:
        """Why a claim cannot be tested in this study; empty where it can."""
        if claim["not here"]:
            return claim["not here"]
        if claim["about families"] and len(families(self.study)) < 2:
            return ONE_FAMILY
        counted = claim["claim"] == COUNTED
        if not all(systems[: 1 if counted else 2]):
            return NO_TEACHER
        teachers = [f"teacher/{name}" for name in self.study.teachers] if counted else []
        for run in [*(name for system in systems if system for name in self.runs(system)), *teachers]:
            row = self.study.systems.get(run)
            if row is None or not row.seeds:
                return NOT_RUN
            if not all(self.study.store.find(run.name) for run in row.runs(self.study)):
                return f"{row.label} is not run yet"
            if counted and row.recipe.seeded and len(row.seeds) == 1:
                return ONE_SEED
        return ""

    def runs(self, system: System) -> list[str]:
        """The systems behind it, by the names of their runs."""
        return system.scheme.runs(self.study, system.where) if isinstance(system, OnSet) else [system]

    def tables(self, system: System) -> dict[int, pandas.DataFrame]:
        """Seed → question_id, label and score on the test set."""
        if system not in self._tables:
            if isinstance(system, OnSet):
                self._tables[system] = cascade.scored(self.study, *system)
            else:
                self._tables[system] = {run.run.number: run.scores() for run in self.study.runs(system)}
        return self._tables[system]

    def intervals(self, claims: Iterable[tuple[System, System, str]]) -> dict[tuple[System, System, str], Interval]:
        """(a, b, metric) → our difference a − b with its interval, in points."""
        claims, intervals = list(dict.fromkeys(claims)), {}
        systems = dict.fromkeys(system for a, b, metric in claims if metric in results.MEASURES for system in (a, b))
        frame = results.frame({str(system): self.tables(system) for system in systems}) if systems else None
        for metric in dict.fromkeys(metric for *_, metric in claims):
            pairs = {(a, b): (str(a), str(b)) for a, b, of in claims if of == metric}
            if metric in results.MEASURES:
                tests = results.compare(frame, [*pairs.values()], measure=metric)
            else:
                tests = govern.compare(self.study, [*pairs.values()], metric)
            columns = ["difference", "low", "high", "seeds", "smallest seen"]
            for pair, test in zip(pairs, tests[columns].itertuples(index=False), strict=True):
                intervals[*pair, metric] = Interval(*test)
        return intervals

    def counted(self, says: str) -> str:
        """The verdict on what is counted of MHS, its heads and its teachers: as the paper says it, or not."""
        seeds = analyses.by_seed(self.study)
        if says == "right where all teachers are":
            questions = [seed.majority().by_question for seed in seeds]
            holds = all((each["student"] | (each["teachers"] < len(self.study.teachers))).all() for each in questions)
        else:  # heads agree most with ELECTRA
            figure = analyses.figure3(self.study, analyses.agreements(seeds)["shared"])
            named = figure.dropna(subset="published")
            holds = (named["agrees most with"] == named["published"]).all()
        return "reproduced" if holds else CONTRADICTED


def families(study: Study) -> set[str]:
    """The encoders behind the teachers: names of the hub, or types of configurations."""
    teachers = [teacher for teacher in study.teachers.values() if not teacher.scores]
    return {teacher.name or teacher.config["model_type"] for teacher in teachers}
