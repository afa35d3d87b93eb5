"""Every system of every paper under one evaluator, and pairs of them in a row: accuracy against cost.

A ranker is one or several stages: each scores what those before it have left. A cascade is one whose stages share
their layers. Reads stored scores; trains nothing.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy
import pandas

from as2lib.metrics.cost import front
from as2lib.metrics.pruning import dropped
from as2lib.papers.cascade.rows import schemes
from as2lib.papers.cerberus.rows import roles
from as2lib.papers.cosinet import rows as cosinet
from as2lib.papers.costs import Work, lengths, work
from as2lib.papers.row import baseline
from as2lib.study import results
from as2lib.study.run import Notebook, Run, System

if TYPE_CHECKING:
    from as2lib.study import Study

FIRSTS = {  # cheap, before a dear one
    "WO+RR": "lexical/overlap_then_rank",
    "Cosinet + BiRNN": "cosinet/birnn",
    "Compare-Aggregate + BiRNN": "ca/birnn",
}
KEEPS = (2, 3, 5, 10)  # candidates of a question that a ranker leaves to the next one
TRIVIAL, WORDS, ENCODER, ENSEMBLE, HEADED, CASCADE = KINDS = (
    "trivial",
    "no transformer",
    "one encoder",
    "ensemble",
    "heads",
    "cascade",
)
# Combinations of which the papers have no numbers; the first they credit to Matsubara et al. 2020.
TWO, LAST, VOTE = COMBINED = ("two in a row", "cascade, then heads", "heads that vote")
MARKS = dict(zip((*KINDS[1:], *COMBINED), "osD^v*hP", strict=True))  # kind → its marker in the figure
BUDGETS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # in operations of the base model
COST, SHARE = "M operations", "on the front %"
VOTES = "votes"
Limit = int | float  # how many candidates stay (2, 3, …), or which share is dropped (0 to 1)


@dataclass(frozen=True)
class Stage:
    """One scorer: the system whose runs it is, what it computes, and the column of its scores.

    column: `score`, `exit_<layers>`, or `votes`: heads whose top candidate it is, then the score.
    """

    system: str
    work: Work
    column: str = "score"


@dataclass(frozen=True)
class Pipeline:
    """Stages in a row.  limits: what each but the last leaves.  beside: the system to compare it with, by its label."""

    label: str
    kind: str
    stages: tuple[Stage, ...]
    limits: tuple[Limit, ...] = ()
    beside: str = ""


def notebooks(study: "Study") -> list[Notebook]:
    systems = (*ranked(study).values(), *controls(study))
    return [Notebook("11_frontier", "Which system for which budget?", "no table: what the papers leave open", systems)]


def ranked(study: "Study") -> dict[str, System]:
    """The systems that rank the target's test set, in the order in which its candidates come; those that are run."""
    test = tuple(study.data.target.test)
    runs = {name: system.make(system.seeds[0]) for name, system in study.systems.items() if system.seeds}
    others = {system.run for system in controls(study)}
    return {
        name: study.systems[name]
        for name, run in runs.items()
        if run.data.get("test") == test and run.kind != "shuffled" and name not in others
    }


def controls(study: "Study") -> list[System]:
    """What tells the order from the model: rankers trained on random orders."""
    if not study.cosinet:
        return []
    return [study.systems[system.run] for system in cosinet.orderless(study)]


def kind(run: Run) -> str:
    """Of `KINDS`: what a system is, by one of its runs."""
    if run.kind == "lexical":
        return TRIVIAL
    if run.kind == "ensemble":
        return ENSEMBLE
    if "words" in run.spec:
        return WORDS
    if "mhs" in run.spec:
        return HEADED
    return CASCADE if len(run.spec.get("cascade", {}).get("exits", ())) > 1 else ENCODER


def pipelines(study: "Study") -> list[Pipeline]:
    """Every system of the papers on the target set, then combinations of them; one fit of several names once."""
    known, words = ranked(study), lengths(study)
    runs = {name: system.make(system.seeds[0]) for name, system in known.items()}
    stages = {name: Stage(name, work(study, run, words)) for name, run in runs.items()}
    kinds = {name: kind(run) for name, run in runs.items()}
    lines = [
        Pipeline(known[name].label, kinds[name], (stage,)) for name, stage in stages.items() if kinds[name] != CASCADE
    ]
    if study.cascade:
        lines += cascades(study, stages)
        lines += before_heads(study, stages, known[roles(study).mhs].label)
    lines += in_a_row(study, stages, known)
    for name, run in runs.items():
        if run.spec.get("mhs", {}).get("heads", 1) > 2:
            stage = Stage(name, stages[name].work, VOTES)
            lines.append(Pipeline(f"{known[name].label}, heads vote", VOTE, (stage,), beside=known[name].label))
    return once(study, lines)


def alone(study: "Study", names: Sequence[str]) -> dict[str, float]:
    """The operations a question of single systems, by their names."""
    words, candidates = lengths(study), answered_sizes(study.run(baseline(study)).scores())
    runs = {name: study.systems[name].make(study.systems[name].seeds[0]) for name in names}
    lines = {name: Pipeline(name, "", (Stage(name, work(study, run, words)),)) for name, run in runs.items()}
    return {name: operations(line, candidates) for name, line in lines.items()}


def once(study: "Study", lines: Sequence[Pipeline]) -> list[Pipeline]:
    """One for those of the same runs, the first."""
    first: dict[str, Pipeline] = {}
    for line in lines:
        runs = [[study.store.identity(run) for run in study.systems[stage.system].runs()] for stage in line.stages]
        columns = [stage.column for stage in line.stages]
        first.setdefault(str((runs, columns, line.limits)), line)
    return list(first.values())


def cascades(study: "Study", single: dict[str, Stage]) -> Iterator[Pipeline]:
    """The Cascade Transformer's exits and drop ratios, and independent models in sequence."""
    exits, whole = study.cascade.exits, single["cascade/target"]
    for scheme in schemes(study):
        if scheme.method == "MT":  # a system of its own
            continue
        if scheme.method == "SR":
            stages = tuple(single[f"monolith/{layers}/target"] for layers in exits)
        elif scheme.alpha:
            stages = stages_of_exits(whole, exits)
        else:
            each = whole.work.candidate * scheme.layers / exits[-1]
            stages = (Stage(whole.system, Work(each), f"exit_{scheme.layers}"),)
        yield Pipeline(scheme.label, CASCADE, stages, (scheme.alpha,) * (len(stages) - 1))


def stages_of_exits(whole: Stage, exits: Sequence[int]) -> tuple[Stage, ...]:
    """A cascade's exits as stages: each computes the layers behind the one before."""
    layer = whole.work.candidate / exits[-1]
    pairs = pairwise([0, *exits])
    return tuple(Stage(whole.system, Work(layer * (end - start)), f"exit_{end}") for start, end in pairs)


def before_heads(study: "Study", single: dict[str, Stage], beside: str) -> Iterator[Pipeline]:
    """A cascade's early exits drop candidates, and the multiple-heads student, a model of its own, scores the rest."""
    exits = study.cascade.exits
    shared = stages_of_exits(single["cascade/target"], exits)
    for early, alpha in product(range(1, len(exits)), study.cascade.alphas):
        label = f"cascade to layer {exits[early - 1]}, {alpha:.0%} dropped, then MHS"
        yield Pipeline(label, LAST, (*shared[:early], single[roles(study).mhs]), (alpha,) * early, beside)


def in_a_row(study: "Study", single: dict[str, Stage], known: dict[str, System]) -> Iterator[Pipeline]:
    """A cheap ranker leaves its best candidates to a dear one."""
    of = roles(study)
    dear = {"MHS": of.mhs, "the large model": of.teacher, "the teachers": "ensemble/teachers"}
    firsts, lasts = ({name: system for name, system in names.items() if system in single} for names in (FIRSTS, dear))
    longest = study.run(baseline(study)).scores().groupby("question_id").size().max()
    keeps = [keep for keep in KEEPS if keep < longest]
    for (first, a), (last, b), keep in product(firsts.items(), lasts.items(), keeps):
        label = f"{first} keeps {keep}, then {last}"
        yield Pipeline(label, TWO, (single[a], single[b]), (keep,), known[b].label)


def table(study: "Study", lines: Sequence[Pipeline], resamples: int = 2000) -> pandas.DataFrame:
    """Every pipeline by its label: kind, millions of multiply-adds a question, parameters, MAP and P@1 on the test set.

    Percent, mean over seeds, and " ±"; seeds: how many, in a row how many pairs of them.  dev MAP is missing where a
    pipeline was not scored on dev, or has weights that were fitted to it.  front: whether no other has as much MAP at
    lower or more at the same cost; `SHARE`: in how many resamples of the questions.  In the order of cost, then of MAP.
    """
    tested = {line.label: scores(study, line) for line in lines}
    frame = results.frame(tested)
    rows = results.mean_and_spread(frame)[["MAP", "MAP ±", "P@1", "P@1 ±"]].rename_axis("system")
    candidates = answered_sizes(next(iter(tested.values()))[0])
    rows.insert(0, "kind", [line.kind for line in lines])
    rows.insert(1, COST, [operations(line, candidates) / 1e6 for line in lines])
    rows.insert(2, "parameters", [parameters(study, line) for line in lines])
    rows.insert(3, "seeds", [len(tested[line.label]) for line in lines])
    fair = [line for line in lines if not fitted_on_dev(study, line)]
    dev = {line.label: tables for line in fair if (tables := scores(study, line, "dev")) is not None}
    rows["dev MAP"] = results.mean_and_spread(results.frame(dev))["MAP"]
    cost = rows[COST].to_numpy()
    values = frame.pivot_table("AP", "question_id", "system", sort=False)[rows.index].to_numpy()  # means over seeds
    rows["front"] = front(cost, values.mean(axis=0))
    rows[SHARE] = 100 * shares(cost, values, resamples)
    return rows.sort_values([COST, "MAP"], kind="stable")


def operations(line: Pipeline, candidates: numpy.ndarray) -> float:
    """Multiply-adds a question, mean over questions that have so many `candidates`: (q,)."""
    return sum(stage.work.question + stage.work.candidate * many for stage, many in reached(line, candidates))


def reached(line: Pipeline, candidates: numpy.ndarray) -> Iterator[tuple[Stage, float]]:
    """Each stage, and how many of a question's candidates reach it, mean over questions.  candidates: (q,)."""
    for stage, limit in zip(line.stages, (*line.limits, 0.0), strict=True):
        yield stage, float(candidates.mean())
        candidates = staying(candidates, limit)


def staying(candidates: numpy.ndarray, limit: Limit) -> numpy.ndarray:
    """How many of a question's candidates a limit leaves: at most a number, or all but floor(share · m) of m."""
    if isinstance(limit, int):
        return numpy.minimum(candidates, limit)
    return candidates - dropped(candidates, limit)


def parameters(study: "Study", line: Pipeline) -> int:
    """Of all its models; a cascade's count once, with all its exits."""
    return sum(study.runs(name)[0].facts["parameters"] for name in dict.fromkeys(s.system for s in line.stages))


def fitted_on_dev(study: "Study", line: Pipeline) -> bool:
    """Whether a stage is an ensemble whose weights were fitted to dev: any but a mean."""
    runs = [study.systems[stage.system].runs()[0] for stage in line.stages]
    return any(run.spec.get("combine", "mean") != "mean" for run in runs)


def reads_order(study: "Study", line: Pipeline) -> bool:
    """Whether a stage reads the order of the candidates: a rank RNN, or a trivial ranker but for plain word overlap."""
    specs = [study.systems[stage.system].runs()[0].spec for stage in line.stages]
    return any(
        spec.get("words", {}).get("rank_rnn") or spec.get("scorer", "word_overlap") != "word_overlap" for spec in specs
    )


def scores(study: "Study", line: Pipeline, split: str = "test") -> list[pandas.DataFrame] | None:
    """question_id, label and score, a table a seed; None where one of its runs has no scores of that split.

    Seed i of a stage stands before seed i of the next; a stage of fewer seeds begins again at its first, until all end
    together, so that each of a stage's seeds counts as much as the others.
    """
    runs = [study.runs(stage.system) for stage in line.stages]
    if any(split not in run.run.data for stored in runs for run in stored):
        return None
    tables = []
    for i in range(math.lcm(*map(len, runs))):
        stages = [stored[i % len(stored)].scores(split) for stored in runs]
        columns = [column(table, stage.column) for table, stage in zip(stages, line.stages, strict=True)]
        labelled = stages[0]["question_id"], stages[0]["label"]
        score = columns[0] if len(columns) == 1 else sequence(*labelled, columns, line.limits)
        tables.append(stages[0][["question_id", "label"]].assign(score=numpy.asarray(score)))
    return tables


def column(table: pandas.DataFrame, name: str) -> pandas.Series:
    """A stage's scores; `votes`: 2 for each head whose top candidate it is, the first of equals, plus the score."""
    if name != VOTES:
        return table[name]
    heads = table.filter(like="head_")
    ranks = heads.groupby(table["question_id"], sort=False).rank(method="first", ascending=False)
    return 2 * ranks.eq(1).sum(axis=1) + table["score"]


def sequence(
    question: pandas.Series, label: pandas.Series, columns: Sequence[pandas.Series], limits: Sequence[Limit]
) -> pandas.Series:
    """One score of every candidate: the stage that saw it last, from 0, plus its place among that stage's in [0, 1).

    question: (n,) ids.  label: (n,).  columns: the scores that each stage gives to all candidates, (n,) each.  limits:
    what each stage but the last leaves of a question's candidates, its best; of equal ones the incorrect stay.
    """
    question = question[label.sort_values(kind="stable").index]  # of equal scores the first rows stay
    left, score = pandas.Series(True, question.index), pandas.Series(0.0, question.index)
    for number, (column, limit) in enumerate(zip(columns, (*limits, 0.0), strict=True)):
        values = column[question.index]
        score[left] = number + values[left].rank(method="dense") / (len(question) + 1)
        groups = values[left].groupby(question[left], sort=False)
        stay = staying(groups.transform("size").to_numpy(), limit)
        left = left & (groups.rank(method="first", ascending=False) <= stay).reindex(left.index, fill_value=False)
    return score[label.index]


def answered_sizes(table: pandas.DataFrame) -> numpy.ndarray:
    """How many candidates each question with a correct one has."""
    groups = table.groupby("question_id", sort=False)["label"]
    return groups.size()[groups.sum() > 0].to_numpy()


def shares(cost: numpy.ndarray, values: numpy.ndarray, resamples: int) -> numpy.ndarray:
    """In which share of bootstrap samples of the questions each system is on the front.

    cost: (s,).  values: (q, s), of each question.  Returns (s,) in [0, 1]; they sum to the mean size of the front.
    """
    questions = len(values)
    drawn = numpy.random.default_rng(0).multinomial(questions, numpy.full(questions, 1 / questions), resamples)
    return front(cost, drawn @ values / questions).mean(axis=0)


def best_of_kinds(rows: pandas.DataFrame) -> pandas.DataFrame:
    """The system of each kind that has the highest MAP, the cheapest of equals, and how many the kind has."""
    best = rows.sort_values("MAP", ascending=False, kind="stable").drop_duplicates("kind").sort_values(COST)
    counts = rows["kind"].value_counts()
    best = best.drop(columns=["front", "dev MAP"]).assign(systems=counts[best["kind"]].to_numpy())
    return best.reset_index().set_index("kind")


def combined(study: "Study", lines: Sequence[Pipeline], rows: pandas.DataFrame) -> pandas.DataFrame:
    """Each combination beside its last ranker alone, or beside the mean of the same heads.

    single MAP: the highest MAP of a system of the papers that costs no more.  above it: how much higher the MAP of the
    combination is.  cost %: of the operations of the last ranker.  difference, low, high: points of MAP from it, 95 %
    interval over questions.
    """
    by_label = {line.label: line for line in lines}
    pairs = [(label, by_label[label].beside) for label in rows.index if by_label[label].kind in COMBINED]
    frame = results.frame({label: scores(study, by_label[label]) for pair in pairs for label in pair})
    tests = results.compare(frame, pairs).droplevel(1)
    papers = rows[~rows["kind"].isin(COMBINED)]
    cheap = [papers.loc[papers[COST] <= rows.loc[a, COST] * (1 + 1e-9), "MAP"].max() for a, _ in pairs]
    cost = [100 * rows.loc[a, COST] / rows.loc[b, COST] for a, b in pairs]
    columns = rows.loc[tests.index, ["kind", "MAP", "P@1"]].assign(**{"single MAP": cheap, "cost %": cost})
    columns["above it"] = columns["MAP"] - columns["single MAP"]
    table = columns.join(tests[["difference", "low", "high"]]).rename_axis("system")
    return table.sort_values("kind", key=lambda kinds: kinds.map(COMBINED.index), kind="stable")


def budgets(rows: pandas.DataFrame, unit: float) -> pandas.DataFrame:
    """For each budget, in `unit` millions of operations: the best system on dev, the cheapest of equals.

    Beside it the best of the test set within the budget, in hindsight, which nobody can choose; lost: what it has more.
    """
    table = {}
    for budget in BUDGETS:
        within = rows[rows[COST] <= budget * unit * (1 + 1e-9)]
        name = within["dev MAP"].idxmax()  # the first, which is the cheapest
        choice, best = within.loc[name], within["MAP"].idxmax()
        row = {"system": name, "cost ×": choice[COST] / unit, **choice[["parameters", "dev MAP", "MAP", "P@1"]]}
        table[f"{budget:g}"] = row | {"in hindsight": best, "lost": within.loc[best, "MAP"] - choice["MAP"]}
    return pandas.DataFrame.from_dict(table, orient="index").rename_axis("budget ×")


def points(rows: pandas.DataFrame, unit: float, names: dict[str, str]) -> pandas.DataFrame:
    """The points of the figure, in operations of the base model: what costs nothing has no place on its axis.

    names: system → what stands beside its point.  Heads that vote are left out where they are not on the front: they
    would hide the mean of the same heads.
    """
    drawn = rows[(rows[COST] > 0) & ((rows["kind"] != VOTE) | rows["front"])]
    drawn = drawn.rename(columns={"MAP": "value", SHARE: "share"})
    drawn = drawn.assign(cost=drawn[COST] / unit, label=[names.get(name, "") for name in drawn.index])
    return drawn[["kind", "cost", "value", "front", "share", "label"]]
