"""What the papers claim of pairs of systems, and what a study's runs say of it, by one rule; trains nothing.

A claim is a pair (a, b) of which a paper says that a is better than b, equal to it, or either.  It is judged as every
comparison is: by the 95 % interval over questions and seeds of our difference a − b, and the paper's difference.  A
number that can be counted is no claim: see `fidelity`.
"""

import math
import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy
import pandas
from scipy.special import stdtrit

from as2lib.metrics import significance, threshold
from as2lib.papers import paper_tables
from as2lib.papers.cascade import analyses as cascade
from as2lib.papers.cascade.rows import PAPER_EXITS, RECIPES, Scheme
from as2lib.papers.cerberus import rows as cerberus
from as2lib.papers.pair_sets import published_set
from as2lib.study import results

if TYPE_CHECKING:
    from as2lib.study import Study

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
SAMPLES = 1000  # bootstrap samples of the questions, for measures that are no mean over questions
SCHEME = re.compile(r"(MT|SR|CT)-(\d+)(?:-(0\.\d))?/(wide|target|TREC-QA)")  # the paper's layers, and alpha
OF_THE_SIZE = "teacher of the student's size"  # which of GOVERN's that is depends on the study
NO_TEACHER = "no teacher of this study stands beside the paper's"
NO_BERT = "no BERT was trained here"
JUDGES = "people judged two live systems"
RECALLS = ("q R@P", "qp R@P")  # whose intervals are wider, on sets of this size, than any difference in the paper
FEW = "too few questions to judge a recall at a precision"
ONE_SEED = "one seed: another fit may say otherwise"


class Interval(NamedTuple):
    """Of a difference a − b, in points, over questions and seeds; low and high are nan of one seed."""

    difference: float
    low: float
    high: float
    seeds: int


# ---------------------------------------------------------------- the claims


def listed(study: "Study") -> pandas.DataFrame:
    """Every claim of the four papers about a pair, a row each, as their `claims.csv` have them, with `paper` before.

    A claim of the target has the set that stands beside the study's, and its published difference, from Table 2.
    """
    claims = paper_tables.of_every_paper(study, "claims").fillna({"test": "none named"})
    place = published_set(study)
    table2 = results.published("cerberus", "table2")[place]
    for i, claim in claims[claims["set"] == TARGET].iterrows():
        claims.loc[i, "published"] = results.published_difference(table2, claim["a"], claim["b"], claim["metric"])
    return claims.replace({"set": {TARGET: place}})


def table(study: "Study", papers: Collection[str] = tuple(paper_tables.PAPERS.values())) -> pandas.DataFrame:
    """Every claim of those papers that the study has a section for, with its verdict here; the untestable ones last.

    Index `paper`; columns `COLUMNS`.  difference, low, high: points, a − b, over questions and the seeds that both
    have.  reason: why a claim is not testable here; what is measured all the same has its numbers.  set: the paper's; a
    claim of a set that no study here has is judged on the target.
    """
    here = [paper for paper in papers if paper not in SECTIONS or getattr(study, SECTIONS[paper])]
    claims, scores = listed(study), Scores(study)
    claims = claims[claims["paper"].isin(here)]
    reasons = [why_not(claim, scores) for claim in claims.itertuples()]
    testable = [claim for claim, reason in zip(claims.itertuples(), reasons, strict=True) if not reason]
    intervals = scores.intervals((claim.a, claim.b, claim.metric) for claim in testable)
    rows = []
    for claim, reason in zip(claims.itertuples(), reasons, strict=True):
        interval = None if reason else intervals[claim.a, claim.b, claim.metric]
        if interval and claim.metric in RECALLS:
            reason = FEW
        elif interval and math.isnan(interval.low):
            reason = ONE_SEED
        row = claim._asdict() | {
            "claim": f"{scores.label(claim.a)} {SIGNS[claim.claim]} {scores.label(claim.b)}",
            "metric": scores.measure(claim.metric),
            "verdict": NOT_TESTABLE if reason else verdict(claim.claim, interval, claim.published),
            "reason": reason,
            "a": scores.name(claim.a),
            "b": scores.name(claim.b),
        }
        rows.append(row | (interval._asdict() if interval else {}))
    numbers = dict.fromkeys(["difference", "low", "high"], float) | {"seeds": "Int64"}
    judged = pandas.DataFrame(rows, columns=["paper", *COLUMNS]).set_index("paper").astype(numbers)
    return judged.sort_values("verdict", key=lambda verdicts: verdicts == NOT_TESTABLE, kind="stable")


def counts(table: pandas.DataFrame) -> pandas.DataFrame:
    """How many claims of each paper in the table got each verdict, and all together."""
    if table.empty:
        return pandas.DataFrame()
    counts = paper_tables.by_paper(table, "verdict", VERDICTS)
    counts.loc["all"] = counts.sum()
    return counts


def verdict(claim: str, interval: Interval, published: float) -> str:
    """What our interval says of a claim: `significance.verdict` of the paper's difference.

    A paper that prints no difference, or one against its claim that a is better, leaves the direction alone.
    """
    low, high = interval.low, interval.high
    if math.isnan(published) or (claim != "equal" and published <= 0):
        return SAME_DIRECTION if low > 0 else CONTRADICTED if high < 0 else UNDECIDED
    return significance.verdict(low, high, published)


# ---------------------------------------------------------------- what can be tested


def why_not(claim, scores: "Scores") -> str:
    """Why a claim cannot be tested in this study; empty where it can."""
    if claim.test == "judges":
        return JUDGES
    if "bert" in (claim.a, claim.b):
        return NO_BERT
    if not (scores.name(claim.a) and scores.name(claim.b)):
        return NO_TEACHER
    return scores.missing(scores.name(claim.a)) or scores.missing(scores.name(claim.b))


class Scores:
    """The scores behind the systems of claims: runs of a system, or a scheme of the cascade over its exits.

    Every number is of stored runs: nothing is made.
    """

    def __init__(self, study: "Study"):
        self.study = study
        self._tables: dict[str, list[pandas.DataFrame]] = {}
        depths = {published: run for run, published in cerberus.stands_for(study).items()}
        self._runs: dict[str, str] = {}  # a system of the papers → what stands here for it
        for layers in cerberus.HEAD_DEPTHS:
            published = f"mhs/{cerberus.PAPER_HEADS}h{layers}"
            self._runs[published] = depths.get(published, f"heads of {layers} of {cerberus.PAPER_DEPTH} layers")
        self._labels = {f"{recipe.name}/wide": f"cascade, {recipe.label}" for recipe in RECIPES[1:]}
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
        for system in scheme.runs(self.study, where) if scheme else [name]:
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

    def intervals(self, claims: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str, str], Interval]:
        """(a, b, metric) of the papers → our difference with its interval, in points."""
        claims, intervals = list(claims), {}
        for metric in dict.fromkeys(metric for *_, metric in claims):
            pairs = {(a, b): (self.name(a), self.name(b)) for a, b, of in claims if of == metric}
            if metric not in results.MEASURES:
                intervals |= {(*pair, metric): self.over_thresholds(*runs, metric) for pair, runs in pairs.items()}
                continue
            names = dict.fromkeys(name for runs in pairs.values() for name in runs)
            frame = results.frame({name: self.tables(name) for name in names})
            tests = results.compare(frame, [*pairs.values()], measure=metric)[[*Interval._fields]]
            intervals |= {
                (*pair, metric): Interval(*test)
                for pair, test in zip(pairs, tests.itertuples(index=False), strict=True)
            }
        return intervals

    def over_thresholds(self, a: str, b: str, metric: str) -> Interval:
        """Of "q R@P", "qp R@P" (at the study's last precision) and "qp prAUC", which are no means over questions.

        Questions are drawn with replacement, and Student's t of the seeds' means is added: `results.compare`, but for
        the share of the questions' spread that is of seeds, which a mean over questions alone can tell.
        """
        precision = self.study.govern.precisions[-1]
        questions = self.tables(a)[0]["question_id"].nunique()
        random = numpy.random.default_rng(0)
        drawn = random.multinomial(questions, numpy.full(questions, 1 / questions), size=SAMPLES)
        counts = numpy.vstack([numpy.ones(questions, dtype=drawn.dtype), drawn])  # first the questions themselves
        values = {name: [] for name in (a, b)}
        for name, resampled in values.items():
            for table in self.tables(name):
                pairs = (table["question_id"], table["label"], table["score"])
                resampled.append(threshold.resampled(*pairs, counts, metric, precision))
        of_a, of_b = values.values()
        seeds = min(len(of_a), len(of_b))
        means = (numpy.array(of) if len(of) == seeds else numpy.mean(of, axis=0)[None] for of in (of_a, of_b))
        gaps = 100 * numpy.subtract(*means)  # (seeds, 1 + SAMPLES)
        difference, seeds = float(gaps[:, 0].mean()), len(gaps)
        if seeds == 1:
            return Interval(difference, math.nan, math.nan, seeds)
        t = random.permutation(stdtrit(seeds - 1, (numpy.arange(SAMPLES) + 0.5) / SAMPLES))
        draws = gaps[:, 1:].mean(axis=0) + t * gaps[:, 0].std(ddof=1) / math.sqrt(seeds)
        low, high = numpy.percentile(draws, [2.5, 97.5])
        return Interval(difference, float(low), float(high), seeds)
