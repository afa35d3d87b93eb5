"""Rankers in a row over stored scores: each scores what those before it have left; knows sizes, runs no model.

A system is a row of one; a cascade is one whose stages share their layers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics.pruning import dropped
from as2lib.papers.cascade.systems import schemes
from as2lib.papers.cerberus.longer import twin
from as2lib.papers.cerberus.systems import STUDENT
from as2lib.papers.frontier.systems import BASELINE, CASCADE, FILTERS, HEADED, HEADS, LARGE, exited, systems
from as2lib.runs import costs
from as2lib.runs.costs import Work
from as2lib.runs.run import Run, System

if TYPE_CHECKING:
    from as2lib.study import Study

# Combinations of which the papers have no numbers: the first they credit to Matsubara et al. 2020, the others are new.
TWO, THREE, LAST, SHARED, VOTE = COMBINED = (
    "two in a row", "three in a row", "cascade, then heads", "cascade that ends in heads", "heads that vote"
)  # fmt: skip
LASTS = {"MHS": HEADS, "the large model": LARGE, "the teachers": "ensemble/teachers"}  # or their twins trained longer
KEEPS = (2, 3, 5, 10)  # candidates of a question that a ranker leaves to the next one
Limit = int | float  # how many candidates stay (2, 3, …), or which share is dropped (0 to 1)
VOTES = "votes"


@dataclass(frozen=True)
class Stage:
    """One ranker: the prefix of its runs, what it computes, and the column of its scores.

    column: `score`, `exit_<layers>`, or `votes`: heads whose top candidate it is, then the score.
    """

    prefix: str
    work: Work
    column: str = "score"


@dataclass(frozen=True)
class Ranker:
    """Stages in a row.  limits: what each but the last leaves.  beside: the system to compare it with, by its label."""

    label: str
    kind: str
    stages: tuple[Stage, ...]
    limits: tuple[Limit, ...] = ()
    beside: str = ""


def rankers(study: "Study") -> list[Ranker]:
    """Every system of the papers on the target set, then combinations of them; one fit of several names once."""
    known, words = systems(study), costs.lengths(study)
    alone = {prefix: Stage(prefix, costs.work(study, _first(study, prefix), words)) for prefix in known}
    found = [Ranker(row.label, row.kind, (alone[prefix],)) for prefix, row in known.items() if row.kind != CASCADE]
    if study.cascade:
        found += cascades(study, alone)
    found += _in_a_row(study, alone, known)
    if study.cascade:
        exits, heads = study.cascade.exits, alone[twin(study, HEADS)]
        shared = _exits(alone["cascade/target"], exits)
        for early, alpha in product(range(1, len(exits)), study.cascade.alphas):
            label, stages = f"CT to layer {exits[early - 1]}, alpha {alpha:g}, then MHS", (*shared[:early], heads)
            found.append(Ranker(label, LAST, stages, (alpha,) * early, known[heads.prefix].label))
        found += _before_heads(study, alone[exited(study)], known[exited(study)].label)
    for prefix, row in known.items():
        several = row.kind == HEADED and _first(study, prefix).spec["mhs"]["heads"] > 2
        if several and prefix != exited(study):  # whose exits are stored, not its heads
            stage = Stage(prefix, alone[prefix].work, VOTES)
            found.append(Ranker(f"{row.label}, heads vote", VOTE, (stage,), beside=row.label))
    return _once(study, found)


def _once(study: "Study", found: list[Ranker]) -> list[Ranker]:
    """One for those of the same runs: the first of the student's family, of others where none is of it."""
    kept: dict[tuple, Ranker] = {}
    for one in sorted(found, key=lambda one: STUDENT not in one.stages[0].prefix):
        runs = [[study.store.identity(name) for name in study.store.below(s.prefix)] for s in one.stages]
        kept.setdefault((str(runs), *(s.column for s in one.stages), one.limits), one)
    return [one for one in found if one in kept.values()]


def cascades(study: "Study", alone: dict[str, Stage]) -> Iterator[Ranker]:
    """The Cascade Transformer's exits and drop ratios, and independent models in sequence."""
    exits, whole = study.cascade.exits, alone["cascade/target"]
    for scheme in schemes(study):
        if scheme.method == "MT":  # a system of the catalogue
            continue
        if scheme.method == "SR":
            stages = tuple(alone[f"monolith/{layers}/target"] for layers in exits)
        elif scheme.alpha:
            stages = _exits(whole, exits)
        else:
            each = whole.work.candidate * scheme.layers / exits[-1]
            stages = (Stage(whole.prefix, Work(each), f"exit_{scheme.layers}"),)
        yield Ranker(str(scheme), CASCADE, stages, (scheme.alpha,) * (len(stages) - 1))


def _before_heads(study: "Study", whole: Stage, label: str) -> Iterator[Ranker]:
    """A student whose exits, from a layer of its body on, each drop a share of what its heads would score."""
    run = _first(study, whole.prefix)
    body, layers = run.spec["mhs"]["body"], costs.encoder(study, run)[0]
    layer = whole.work.candidate / layers
    heads = Stage(whole.prefix, Work(layer * (layers - body)))
    for first, alpha in product(range(1, body + 1), study.cascade.alphas):
        stages = (*_exits(Stage(whole.prefix, Work(layer * body)), range(first, body + 1)), heads)
        drops = f"{label}, alpha {alpha:g} from layer {first} on"
        yield Ranker(drops, SHARED, stages, (alpha,) * (len(stages) - 1), label)


def _in_a_row(study: "Study", alone: dict[str, Stage], known: dict[str, System]) -> Iterator[Ranker]:
    """A cheap ranker, then one of `LASTS`; between Cosinet and the multiple-heads student the cascade's first exit."""
    firsts = {"WO+RR": BASELINE} | (FILTERS if study.cosinet else {})
    lasts = {name: twin(study, prefix) for name, prefix in LASTS.items()}
    longest = study.run(BASELINE).scores().groupby("question_id").size().max()
    keeps = [keep for keep in KEEPS if keep < longest]
    for (first, a), (last, b), keep in product(firsts.items(), lasts.items(), keeps):
        yield Ranker(f"{first} keeps {keep}, then {last}", TWO, (alone[a], alone[b]), (keep,), known[b].label)
    if study.cosinet and study.cascade:
        exits, last = study.cascade.exits, alone[lasts["MHS"]]
        stages = (alone[FILTERS["Cosinet"]], _exits(alone["cascade/target"], exits)[0], last)
        for fewer, more in combinations(keeps, 2):
            label = f"Cosinet keeps {more}, CT's layer {exits[0]} keeps {fewer}, then MHS"
            yield Ranker(label, THREE, stages, (more, fewer), known[last.prefix].label)


def _first(study: "Study", prefix: str) -> Run:
    return study.plan[study.store.below(prefix)[0]]


def _exits(whole: Stage, exits: Sequence[int]) -> tuple[Stage, ...]:
    """A cascade's exits as stages: each computes the layers behind the one before."""
    layer = whole.work.candidate / exits[-1]
    pairs = pairwise([0, *exits])
    return tuple(Stage(whole.prefix, Work(layer * (end - start)), f"exit_{end}") for start, end in pairs)


def operations(ranker: Ranker, candidates: numpy.ndarray) -> float:
    """Multiply-adds a question, mean over questions that have so many `candidates`: (q,)."""
    return sum(stage.work.question + stage.work.candidate * many for stage, many in reached(ranker, candidates))


def reached(ranker: Ranker, candidates: numpy.ndarray) -> Iterator[tuple[Stage, float]]:
    """Each stage, and how many of a question's candidates reach it, mean over questions.  candidates: (q,)."""
    for stage, limit in zip(ranker.stages, (*ranker.limits, 0.0), strict=True):
        yield stage, float(candidates.mean())
        candidates = staying(candidates, limit)


def staying(candidates: numpy.ndarray, limit: Limit) -> numpy.ndarray:
    """How many of a question's candidates a limit leaves: at most a number, or all but floor(share · m) of m."""
    if isinstance(limit, int):
        return numpy.minimum(candidates, limit)
    return candidates - dropped(candidates, limit)


def parameters(study: "Study", ranker: Ranker) -> int:
    """Of all its models; a cascade's count once, with all its exits."""
    return sum(study.runs(prefix)[0].facts["parameters"] for prefix in dict.fromkeys(s.prefix for s in ranker.stages))


def fitted_on_dev(study: "Study", ranker: Ranker) -> bool:
    """Whether a stage is an ensemble whose weights were fitted to dev: any but a mean."""
    return any(_first(study, stage.prefix).spec.get("combine", "mean") != "mean" for stage in ranker.stages)


def reads_order(study: "Study", ranker: Ranker) -> bool:
    """Whether a stage reads the order of the candidates: a rank RNN, or a trivial ranker but for plain word overlap."""
    specs = [_first(study, stage.prefix).spec for stage in ranker.stages]
    return any(
        one.get("words", {}).get("rank_rnn") or one.get("scorer", "word_overlap") != "word_overlap" for one in specs
    )


def scores(study: "Study", ranker: Ranker, split: str = "test") -> list[pandas.DataFrame] | None:
    """question_id, label and score, a table a seed; None where one of its runs has no scores of that split.

    Seed i of a stage stands before seed i of the next; a stage of fewer seeds begins again at its first, until all end
    together, so that each of a stage's seeds counts as much as the others.
    """
    runs = [study.runs(stage.prefix) for stage in ranker.stages]
    if any(split not in run.run.data for found in runs for run in found):
        return None
    found = []
    for i in range(math.lcm(*map(len, runs))):
        tables = [one[i % len(one)].scores(split) for one in runs]
        columns = [column(table, stage.column) for table, stage in zip(tables, ranker.stages, strict=True)]
        score = columns[0] if len(columns) == 1 else in_a_row(tables[0]["question_id"], columns, ranker.limits)
        found.append(tables[0][["question_id", "label"]].assign(score=numpy.asarray(score)))
    return found


def column(table: pandas.DataFrame, name: str) -> pandas.Series:
    """A stage's scores; `votes`: 2 for each head whose top candidate it is, the first of equals, plus the score."""
    if name != VOTES:
        return table[name]
    heads = table.filter(like="head_")
    ranks = heads.groupby(table["question_id"], sort=False).rank(method="first", ascending=False)
    return 2 * ranks.eq(1).sum(axis=1) + table["score"]


def in_a_row(question: pandas.Series, columns: Sequence[pandas.Series], limits: Sequence[Limit]) -> pandas.Series:
    """One score of every candidate: the stage that saw it last, from 0, plus its place among that stage's in [0, 1).

    question: (n,) ids.  columns: the scores that each stage gives to all candidates, (n,) each.  limits: what each
    stage but the last leaves of a question's candidates, its best; equal scores keep the order of the rows.
    """
    left, found = pandas.Series(True, question.index), pandas.Series(0.0, question.index)
    for number, (given, limit) in enumerate(zip(columns, (*limits, 0.0), strict=True)):
        found[left] = number + given[left].rank(method="dense") / (len(question) + 1)
        groups = given[left].groupby(question[left], sort=False)
        stay = staying(groups.transform("size").to_numpy(), limit)
        left = left & (groups.rank(method="first", ascending=False) <= stay).reindex(left.index, fill_value=False)
    return found
