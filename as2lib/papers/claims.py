"""What the papers claim of pairs of systems, and what a study's runs say of it, by one rule; trains nothing.

A claim is a pair (a, b) of which a paper says that a is better than b, equal to it, or either.  It is judged by the
95 % interval over questions and seeds of our difference a − b, and the paper's.  Counted numbers: `fidelity`.
"""

import math
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

import pandas

from as2lib.metrics import significance
from as2lib.papers import paper_tables
from as2lib.papers.cascade import analyses as cascade
from as2lib.papers.cascade.rows import PAPER_EXITS, WAYS, Scheme
from as2lib.papers.cerberus import rows as cerberus
from as2lib.papers.govern import analyses as govern
from as2lib.papers.pair_sets import published_set
from as2lib.study import Study, results

SECTIONS = {"Cascade Transformer": "cascade", "Cosinet": "cosinet", "GOVERN": "govern"}  # of a study's file
SIGNS = {"better": ">", "equal": "=", "equal or better": "≥"}
UNDECIDED, CONTRADICTED, SAME_DIRECTION = "undecided", "contradicted", "same direction"
NOT_TESTABLE = "not testable here"
VERDICTS = (
    "reproduced",
    "same direction, smaller",
    "same direction, larger",
    SAME_DIRECTION,  # of a claim for which the paper prints no difference
    UNDECIDED,
    "not seen",
    CONTRADICTED,
    NOT_TESTABLE,
)
COLUMNS = "claim set metric published difference low high seeds verdict reason test source a b".split()
TARGET = "target"  # the set of a claim whose difference Table 2 of CERBERUS has for each of its sets
SCHEME = re.compile(r"(MT|SR|CT)-(\d+)(?:-(0\.\d))?/(wide|target|TREC-QA)")  # the paper's layers, and alpha
OF_THE_SIZE = "teacher of the student's size"  # which of GOVERN's that is depends on the study
NO_TEACHER = "no teacher of this study stands beside the paper's"
RECALLS = ("q R@P", "qp R@P")  # whose intervals are wider, on sets of this size, than any difference in the paper
FEW = "too few questions to judge a recall at a precision"
ONE_SEED = "one seed: another fit may say otherwise"


class Interval(NamedTuple):
    """Of a difference a − b, in points, over questions and seeds; low and high are nan of one seed."""

    difference: float
    low: float
    high: float
    seeds: int


def listed(study: Study) -> pandas.DataFrame:
    """Every claim of the four papers, as `claims.csv` has it; of the target's set the difference is from Table 2."""
    claims = paper_tables.of_every_paper(study, "claims").fillna({"test": "none named"})
    place = published_set(study)
    table2 = results.published("cerberus", "table2")[place]
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
    claims = claims[claims["paper"].isin(here)]
    claims = claims.assign(reason=[scores.why_not(claim) for claim in claims.itertuples()])
    testable = claims.loc[claims["reason"] == "", ["a", "b", "metric"]]
    intervals = scores.intervals(testable.itertuples(index=False, name=None))
    rows = []
    for claim in claims.itertuples():
        row, reason = claim._asdict(), claim.reason
        row["claim"] = f"{scores.label(claim.a)} {SIGNS[claim.claim]} {scores.label(claim.b)}"
        row |= {"a": scores.name(claim.a), "b": scores.name(claim.b)}
        if claim.metric in RECALLS:
            row["metric"] += f"={100 * study.govern.precisions[-1]:.0f}"
        if not reason:
            interval = intervals[claim.a, claim.b, claim.metric]
            row |= interval._asdict()
            reason = FEW if claim.metric in RECALLS else ONE_SEED if math.isnan(interval.low) else ""
        judged = NOT_TESTABLE if reason else verdict(claim.claim, interval, claim.published)
        rows.append(row | {"reason": reason, "verdict": judged})
    numbers = dict.fromkeys(["difference", "low", "high"], float) | {"seeds": "Int64"}
    table = pandas.DataFrame(rows, columns=["paper", *COLUMNS]).set_index("paper").astype(numbers)
    return table.sort_values("verdict", key=lambda verdicts: verdicts == NOT_TESTABLE, kind="stable")


def counts(table: pandas.DataFrame) -> pandas.DataFrame:
    """How many claims of each paper got each verdict, and all together."""
    if table.empty:
        return pandas.DataFrame()
    counts = paper_tables.by_paper(table, "verdict", VERDICTS)
    counts.loc["all"] = counts.sum()
    return counts


def verdict(claim: str, interval: Interval, published: float) -> str:
    """What our interval says of a claim: `significance.verdict` of the paper's difference.

    A paper that prints no difference, or one against its claim that a is better, leaves the direction alone.  Equality
    is contradicted where neither zero nor the published difference is inside: a larger difference is no better sign.
    """
    low, high = interval.low, interval.high
    if claim == "equal" and not low <= 0 <= high and not low <= published <= high:
        return CONTRADICTED
    if math.isnan(published) or (claim != "equal" and published <= 0):
        return SAME_DIRECTION if low > 0 else CONTRADICTED if high < 0 else UNDECIDED
    return significance.verdict(low, high, published)


class Scores:
    """The stored scores behind the systems of claims: runs of a system, or a scheme of the cascade over its exits."""

    def __init__(self, study: Study):
        self.study = study
        self._tables: dict[str, list[pandas.DataFrame]] = {}
        self._runs: dict[str, str] = {}  # a system of the papers → what stands here for it
        for layers in cerberus.HEAD_DEPTHS:
            run = f"mhs/{cerberus.PAPER_HEADS}h{layers}"
            self._runs[run] = f"heads of {layers} of {cerberus.PAPER_DEPTH} layers"
        self._runs |= {published: run for run, published in cerberus.stands_for(study).items()}
        self._labels = {f"{way.name}/wide": f"cascade, {way.label}" for way in WAYS[1:]}
        if study.govern:
            places = [n for n, teacher in enumerate(study.govern.teachers, 1) if teacher == study.govern.student]
            self._runs[OF_THE_SIZE] = f"govern/teacher-{places[0]}" if places else OF_THE_SIZE

    def name(self, name: str) -> str:
        """What stands here for a system of the papers, a head of as large a share of the layers; "": nothing."""
        return self._runs.get(name) or cerberus.ours(self.study, name)

    def label(self, name: str) -> str:
        """What a reader calls a system of the papers; a scheme of the cascade with this study's layers."""
        scheme, where = self.scheme(name)
        if scheme is not None:
            return scheme.label + (f" on {where}" if where == "TREC-QA" else "")
        system = self.study.systems.get(self.name(name))
        return self._labels.get(name) or (system.label if system else self.name(name) or f"the paper's {name}")

    def scheme(self, name: str) -> tuple[Scheme | None, str]:
        """The cascade's scheme of that name, with this study's exits in the place of the paper's, counted from the
        deepest, and its set; None for what is no scheme, or has no such exit here.
        """
        match = SCHEME.fullmatch(name)
        if not match or not self.study.cascade:
            return None, ""
        method, layers, alpha, where = match.groups()
        exits = dict(zip(PAPER_EXITS[::-1], self.study.cascade.exits[::-1], strict=False))
        if int(layers) not in exits:
            return None, where
        drop = float(alpha) if alpha else 0.0 if method == "CT" else None
        return Scheme(method, exits[int(layers)], drop), where

    def runs(self, name: str) -> list[str]:
        """The systems behind it, by the names of their runs."""
        scheme, where = self.scheme(name)
        return scheme.runs(self.study, where) if scheme else [name]

    def why_not(self, claim) -> str:
        """Why a claim cannot be tested in this study; empty where it can."""
        if claim.test == "judges":
            return "people judged two live systems"
        if "bert" in (claim.a, claim.b):
            return "no BERT was trained here"
        names = [self.name(claim.a), self.name(claim.b)]
        if not all(names):
            return NO_TEACHER
        for run in [*self.runs(names[0]), *self.runs(names[1])]:
            system = self.study.systems.get(run)
            if system is None or not system.seeds:
                return "not run in this study"
            if not all(self.study.store.find(run.name) for run in system.runs(self.study)):
                return f"{system.label} is not run yet"
        return ""

    def tables(self, name: str) -> list[pandas.DataFrame]:
        """question_id, label and score on the test set, a table a seed."""
        if name not in self._tables:
            scheme, where = self.scheme(name)
            if scheme:
                self._tables[name] = cascade.scored(self.study, scheme, where)
            else:
                self._tables[name] = [run.scores() for run in self.study.runs(name)]
        return self._tables[name]

    def intervals(self, claims: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], Interval]:
        """(a, b, metric) of the papers → our difference with its interval, in points."""
        claims, intervals = list(claims), {}
        for metric in dict.fromkeys(metric for *_, metric in claims):
            pairs = {(a, b): (self.name(a), self.name(b)) for a, b, of in claims if of == metric}
            if metric in results.MEASURES:
                names = dict.fromkeys(name for runs in pairs.values() for name in runs)
                frame = results.frame({name: self.tables(name) for name in names})
                tests = results.compare(frame, [*pairs.values()], measure=metric)
            else:
                tests = govern.compare(self.study, [*pairs.values()], metric)
            for pair, test in zip(pairs, tests[[*Interval._fields]].itertuples(index=False), strict=True):
                intervals[*pair, metric] = Interval(*test)
        return intervals
