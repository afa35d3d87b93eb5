"""What the papers claim of pairs of systems, and what a study's runs say of it, by one rule; trains nothing.

A claim is a pair (a, b) of which a paper says that a is better than b, equal to it, or either.  It is judged by the
95 % interval over questions and seeds of our difference a − b.  What can be counted is no claim: see `fidelity`.
"""

import math
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy
import pandas

from as2lib.metrics import significance, threshold
from as2lib.papers.cascade import analyses as cascade
from as2lib.papers.cascade.rows import PAPER_EXITS, RECIPES, Scheme
from as2lib.papers.cerberus import rows as cerberus
from as2lib.papers.pair_sets import published_set
from as2lib.study import results

if TYPE_CHECKING:
    from as2lib.study import Study

PAPERS = {"cerberus": "CERBERUS", "cascade": "Cascade Transformer", "cosinet": "Cosinet", "govern": "GOVERN"}
SECTIONS = {"Cascade Transformer": "cascade", "Cosinet": "cosinet", "GOVERN": "govern"}  # of a study's file
SIGNS = {"better": ">", "equal": "=", "equal or better": "≥"}
REPRODUCED, UNDECIDED, NOT_SEEN, CONTRADICTED = "reproduced", "undecided", "not seen", "contradicted"
SMALLER, LARGER = "same direction, smaller", "same direction, larger"
SAME_DIRECTION, NOT_TESTABLE = "same direction", "not testable here"  # the first where the paper prints no difference
VERDICTS = (REPRODUCED, SMALLER, LARGER, SAME_DIRECTION, UNDECIDED, NOT_SEEN, CONTRADICTED, NOT_TESTABLE)
SAMPLES = 1000  # bootstrap samples of the questions, for measures that are no mean over questions
SCHEME = re.compile(r"(MT|SR|CT)-(\d+)(?:-(0\.\d))?/(wide|target|TREC-QA)")  # the paper's layers, and alpha
OF_THE_SIZE = "teacher of the student's size"  # which of GOVERN's that is depends on the study
NO_TEACHER = "no teacher of this study stands beside the paper's"
JUDGES = "people judged two live systems"
RECALLS = ("q R@P", "qp R@P")  # whose intervals are wider, on sets of this size, than any difference in the paper
MARGIN = 1.0  # points within which two systems are equal
ONE_SEED = "one seed: another fit might differ as much"
FEW = "too few questions to judge a recall at a precision"


class Interval(NamedTuple):
    """Of a difference a − b, in points, over questions and seeds; low and high are NaN where there is one seed."""

    difference: float
    low: float
    high: float


# ---------------------------------------------------------------- the claims


def listed() -> pandas.DataFrame:
    """Every claim of the four papers about a pair, a row each, as their `claims.csv` have them, with `paper` before."""
    tables = [results.published(paper, "claims").assign(paper=name) for paper, name in PAPERS.items()]
    table = pandas.concat(tables, ignore_index=True)
    columns = ["paper", "a", "b", "claim", "metric", "set", "published", "test", "source"]
    return table[columns].fillna({"test": "none named"})


def table(study: "Study", papers: Collection[str] = tuple(PAPERS.values())) -> pandas.DataFrame:
    """Every claim of those papers that the study has a section for, with its verdict here; the untestable ones last.

    Index `paper`; columns claim, set, metric, published, difference, low, high, seeds, verdict, reason, test, source,
    a, b.  difference, low, high: points, a − b; the interval is over questions and the seeds that both have.  seeds: of
    the system that has fewer; a claim that rests on one is not judged.  reason: why a claim is not testable here; a
    recall at a precision has its numbers all the same, over questions alone.  set: the paper's; a claim of a set that
    no study here has is judged on the target.
    """
    claims = listed()
    here = [paper for paper in papers if paper not in SECTIONS or getattr(study, SECTIONS[paper])]
    claims = claims[claims["paper"].isin(here)]
    scores = Scores(study)
    rows = []
    for claim in claims.itertuples():
        a, b = scores.name(claim.a), scores.name(claim.b)
        reason = why_not(study, claims, claim, scores)
        interval = None if reason else scores.interval(a, b, claim.metric)
        few = FEW if claim.metric in RECALLS else ONE_SEED if interval and math.isnan(interval.low) else ""
        row = {
            "paper": claim.paper,
            "claim": f"{scores.label(claim.a)} {SIGNS[claim.claim]} {scores.label(claim.b)}",
            "set": claim.set,
            "metric": scores.measure(claim.metric),
            "published": claim.published,
            **(interval._asdict() if interval else dict.fromkeys(Interval._fields, numpy.nan)),
            "seeds": min(len(scores.tables(a)), len(scores.tables(b))) if interval else None,
            "verdict": verdict(claim.claim, interval, claim.published) if interval and not few else NOT_TESTABLE,
            "reason": reason or few,
            "test": claim.test,
            "source": claim.source,
            "a": a,
            "b": b,
        }
        rows.append(row)
    judged = pandas.DataFrame(rows).set_index("paper").astype({"seeds": "Int64"})
    return judged.sort_values("verdict", key=lambda verdicts: verdicts == NOT_TESTABLE, kind="stable")


def counts(table: pandas.DataFrame) -> pandas.DataFrame:
    """How many claims of each paper in the table got each verdict, and all together."""
    by_paper = pandas.crosstab(table.index, table["verdict"])
    here = [paper for paper in PAPERS.values() if paper in by_paper.index]
    by_paper = by_paper.reindex(index=here, columns=VERDICTS, fill_value=0)
    by_paper.loc["all"] = by_paper.sum()
    return by_paper.rename_axis("paper").rename_axis(None, axis=1)


def verdict(claim: str, interval: Interval, published: float) -> str:
    """What our interval says of a claim.

    better, and equal or better where the paper prints a gain: `significance.verdict` of that.  A paper that prints no
    difference, or one against its claim that a is better, leaves the direction alone to be judged.
    equal: reproduced where the interval lies within a `MARGIN` of zero, contradicted where it lies without, else
    undecided; of equal or better only the side below zero counts.
    """
    low, high = interval.low, interval.high
    if claim != "equal" and published > 0:
        return significance.verdict(low, high, published)
    if claim == "better":
        return SAME_DIRECTION if low > 0 else CONTRADICTED if high < 0 else UNDECIDED
    above = MARGIN if claim == "equal" else math.inf
    if low >= -MARGIN and high <= above:
        return REPRODUCED
    return CONTRADICTED if high < -MARGIN or low > above else UNDECIDED


# ---------------------------------------------------------------- what can be tested


def why_not(study: "Study", claims: pandas.DataFrame, claim, scores: "Scores") -> str:
    """Why a claim cannot be tested in this study; empty where it can."""
    if claim.test == "judges":
        return JUDGES
    same = (claims["a"] == claim.a) & (claims["b"] == claim.b) & (claims["metric"] == claim.metric)
    beside = published_set(study)
    if claim.set != beside and beside in set(claims[same & (claims["claim"] == claim.claim)]["set"]):
        return f"about {claim.set}: this study's target stands beside {beside}"
    if not (scores.name(claim.a) and scores.name(claim.b)):
        return NO_TEACHER
    for name in (claim.a, claim.b):
        if missing := scores.missing(scores.name(name)):
            return missing
    return ""


class Scores:
    """The scores behind the systems of claims: runs of a system, or a scheme of the cascade over its exits.

    Every number is of stored runs: nothing is made.
    """

    def __init__(self, study: "Study"):
        self.study = study
        self._tables: dict[str, list[pandas.DataFrame]] = {}
        self._frames: dict[str, pandas.DataFrame] = {}
        self._ours: dict[str, str] = {}
        depths = {theirs: ours for ours, theirs in cerberus.stands_for(study).items()}
        for layers in cerberus.HEAD_DEPTHS:
            theirs = f"mhs/{cerberus.PAPER_HEADS}h{layers}"
            self._ours[theirs] = depths.get(theirs, f"heads of {layers} of {cerberus.PAPER_DEPTH} layers")
        self._labels = {f"{recipe.name}/wide": f"cascade, {recipe.label}" for recipe in RECIPES[1:]}
        if study.govern:
            places = [n for n, teacher in enumerate(study.govern.teachers, 1) if teacher == study.govern.student]
            self._ours[OF_THE_SIZE] = f"govern/teacher-{places[0]}" if places else OF_THE_SIZE

    def name(self, name: str) -> str:
        """What stands here for a system of the papers, a head of as large a share of the layers; "": nothing."""
        return self._ours.get(name) or cerberus.ours(self.study, name)

    def label(self, name: str) -> str:
        """What a reader calls a system of the papers; a scheme of the cascade with this study's layers."""
        scheme, where = self.scheme(name)
        if scheme is not None:
            return scheme.label + (f" on {where}" if where == "TREC-QA" else "")
        system = self.study.systems.get(self.name(name))
        return self._labels.get(name) or (system.label if system else self.name(name) or f"the paper's {name}")

    def measure(self, metric: str) -> str:
        """A metric's name, a recall with the precision at which it is taken."""
        if metric not in RECALLS or not self.study.govern:
            return metric
        return f"{metric}={100 * self.study.govern.precisions[-1]:.0f}"

    def scheme(self, name: str) -> tuple[Scheme | None, str]:
        """The cascade's scheme of that name, with this study's exits in the place of the paper's, the full depth alike.

        None for what is no scheme, or has no such exit here.
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

    def missing(self, name: str) -> str:
        """Why a system has no scores here; empty where it has."""
        scheme, where = self.scheme(name)
        systems = scheme.runs(self.study, where) if scheme else [name]
        for system in systems:
            known = self.study.systems.get(system)
            if known is None or not known.seeds:
                return "not run in this study"
            if not all(self.study.store.find(run.name) for run in known.runs()):
                return f"{known.label} is not run yet"
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

    def interval(self, a: str, b: str, metric: str, seeds: int | None = None) -> Interval:
        """Our difference with its interval, in points; for a recall or prAUC perhaps over the first seeds alone."""
        if metric in results.MEASURES:
            both = pandas.concat([self.frame(a), self.frame(b)], ignore_index=True)
            test = results.compare(both, [(a, b)], measure=metric).iloc[0]
            return Interval(*test[["difference", "low", "high"]])
        return self.over_thresholds(a, b, metric, seeds)

    def frame(self, name: str) -> pandas.DataFrame:
        """SCORES of a system."""
        if name not in self._frames:
            self._frames[name] = results.frame({name: self.tables(name)})
        return self._frames[name]

    def over_thresholds(self, a: str, b: str, metric: str, seeds: int | None = None) -> Interval:
        """Of "q R@P", "qp R@P" (at the study's last precision) and "qp prAUC", which are no means over questions."""
        precision = self.study.govern.precisions[-1]
        questions = self.tables(a)[0]["question_id"].nunique()
        drawn = numpy.random.default_rng(0).multinomial(questions, numpy.full(questions, 1 / questions), size=SAMPLES)
        counts = numpy.vstack([numpy.ones(questions, dtype=drawn.dtype), drawn])  # first the questions themselves
        means = []
        for name in (a, b):
            columns = [(table["question_id"], table["label"], table["score"]) for table in self.tables(name)[:seeds]]
            values = [threshold.resampled(*seed, counts, metric, precision) for seed in columns]
            means.append(numpy.mean(values, axis=0))
        gaps = 100 * (means[0] - means[1])
        low, high = numpy.percentile(gaps[1:], [2.5, 97.5])
        return Interval(float(gaps[0]), float(low), float(high))
