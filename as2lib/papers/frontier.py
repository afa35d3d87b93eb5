"""Every system of every paper under one evaluator: accuracy against cost.  Reads stored scores; trains nothing.

A pipeline is one system, or several stages of which each but the last drops a share of the candidates: models in
sequence, or a cascade, whose stages share their layers.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy
import pandas

from as2lib.data import load_parts
from as2lib.metrics.cost import Lengths, Work, front
from as2lib.metrics.cost import operations as operations_of_model
from as2lib.metrics.pruning import dropped
from as2lib.papers.beyond import ranked
from as2lib.papers.cascade.analyses import scored
from as2lib.papers.cascade.rows import Scheme, schemes
from as2lib.papers.cerberus.rows import roles
from as2lib.papers.row import baseline
from as2lib.study import Study, results
from as2lib.study.run import Run

BUDGETS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # in operations of the base model
COST, SHARE = "M operations", "on the front %"
RESAMPLES = 2000  # of the questions
NAMED = 7  # systems that a figure names, at most
# Milliseconds of a million multiply-adds on one core of an EPYC: MiniLM-L6, 344.6 million for a pair of WikiQA, in
# `predicting` of reports/bench.json.
MS_A_MILLION = 0.0252
LENGTHS = {  # of the answered questions of known test sets, counted once, so that costs need no texts
    "wikiqa:test": Lengths(6.27, 22.52),
    "trecqa:test": Lengths(8.63, 25.61),
    "selqa:test": Lengths(11.08, 25.04),
    "selqa:test=apart(selqa:dev=first80%)": Lengths(11.07, 25.05),
}


@dataclass(frozen=True)
class Pipeline:
    """A point of the frontier: one system, or a scheme whose scores are replayed from several.  work: a stage each."""

    label: str
    kind: str
    systems: tuple[str, ...]
    work: tuple[Work, ...]
    scheme: Scheme | None = None


def pipelines(study: Study) -> list[Pipeline]:
    """Every system of the papers on the target set, and the cascade's exits and drop ratios; equal ones once."""
    single = of_one_stage(study, ranked(study))
    of_known_cost = [pipeline for pipeline in single.values() if not math.isnan(pipeline.work[0].candidate)]
    every = [pipeline for pipeline in of_known_cost if pipeline.kind != "cascade"]
    if study.cascade:
        every += cascades(study, single)
    first: dict[str, Pipeline] = {}
    base = (roles(study).base,)
    for pipeline in sorted(every, key=lambda pipeline: pipeline.systems != base):  # by which costs are counted
        identities = [study.store.identity(run) for name in pipeline.systems for run in study.systems[name].runs(study)]
        first.setdefault(str((identities, pipeline.scheme)), pipeline)
    return list(first.values())


def of_one_stage(study: Study, names: Iterable[str]) -> dict[str, Pipeline]:
    words, pipelines = lengths(study), {}
    for name in names:
        row = study.systems[name]
        work = work_of(study, row.runs(study)[0], words)
        pipelines[name] = Pipeline(row.label, row.family, (name,), (work,))
    return pipelines


def lengths(study: Study) -> Lengths:
    """Of the target's test set; words are split at blanks."""
    parts = study.data.target.test
    if len(parts) == 1 and (known := LENGTHS.get(parts[0].removesuffix("=answered"))):
        return known
    pairs = load_parts(tuple(parts), "answered").to_pandas()
    words = {column: pairs[column].str.split().str.len() for column in ("question", "answer")}
    return Lengths(words["question"].groupby(pairs["question_id"]).first().mean(), words["answer"].mean())


def answered_sizes(table: pandas.DataFrame) -> numpy.ndarray:
    """How many candidates each question with a correct one has."""
    return results.answered(table).groupby("question_id", sort=False).size().to_numpy()


def work_of(study: Study, run: Run, words: Lengths) -> Work:
    """What a run computes to rank; the members of an ensemble one after another."""
    if run.kind in ("ensemble", "shuffled"):
        return Work(*map(sum, zip(*(work_of(study, parent, words) for parent in run.parent_runs()), strict=True)))
    if run.kind == "lexical":
        return Work(0.0)
    spec = {key: value for step in run.lineage() for key, value in step.spec.items()}
    has_sizes = "words" in spec or "config" in spec.get("backbone", {})
    return operations_of_model(spec, {} if has_sizes else study.run(run.name).facts, words)


def cascades(study: Study, single: dict[str, Pipeline]) -> Iterator[Pipeline]:
    """The Cascade Transformer's exits and drop ratios, and independent models in sequence."""
    exits = study.cascade.exits
    for scheme in schemes(study):
        names = tuple(scheme.runs(study, "target"))
        if scheme.method == "MT" or not single.keys() >= set(names):
            continue  # a system of its own; or one that is not run
        stages = tuple(single[name].work[0] for name in names)
        if scheme.method == "CT":  # each stage computes the layers behind the one before
            layer, ends = stages[0].candidate / exits[-1], [0, *exits] if scheme.alpha else [0, scheme.layers]
            stages = tuple(Work(layer * (end - start)) for start, end in pairwise(ends))
        yield Pipeline(scheme.label, "cascade", names, stages, scheme)


def operations_of(study: Study, names: Iterable[str]) -> dict[str, float]:
    """The operations a question of single systems, by their names; nan where nobody knows them."""
    candidates = answered_sizes(study.run(baseline(study)).scores())
    single = of_one_stage(study, names)
    return {name: operations(pipeline, candidates) for name, pipeline in single.items()}


def operations(pipeline: Pipeline, candidates: numpy.ndarray) -> float:
    """Multiply-adds a question, mean over questions that have so many `candidates`: (q,)."""
    total, alpha = 0.0, pipeline.scheme.alpha if pipeline.scheme else 0.0
    for stage in pipeline.work:
        total += stage.question + stage.candidate * float(candidates.mean())
        candidates = candidates - dropped(candidates, alpha)  # which the next stage doesn't see
    return total


def scores(study: Study, pipeline: Pipeline, split: str = "test") -> dict[int, pandas.DataFrame]:
    """Seed → question_id, label and score."""
    if pipeline.scheme:
        return scored(study, pipeline.scheme, "target", split)
    return {run.run.seed: run.scores(split) for run in study.runs(pipeline.systems[0])}


def can_be_chosen(study: Study, pipeline: Pipeline) -> bool:
    """Whether dev can choose it: it was scored there, is no ensemble whose weights were fitted to dev, and is not made
    of one seed where the study has several: of many such, dev would choose the luckiest.
    """
    systems = [study.systems[name] for name in pipeline.systems]
    one_seed = any(system.seeded and len(system.seeds) == 1 for system in systems)
    fitted_to_dev = any(system.spec.get("combine", "mean") != "mean" for system in systems)
    scored = all("dev" in system.data for system in systems) and not fitted_to_dev
    return scored and not (one_seed and len(study.seeds) > 1)


def by_cost(study: Study, pipelines: Sequence[Pipeline]) -> pandas.DataFrame:
    """Every pipeline by its label, in the order of cost: kind, millions of multiply-adds a question, parameters of all
    its models, MAP and P@1 in percent, mean over seeds, and " ±"; dev MAP of those that can be chosen by it.

    front: whether no other has as much MAP at lower or more at the same cost; `SHARE`: in how many resamples of the
    questions.
    """
    tested = {pipeline.label: scores(study, pipeline) for pipeline in pipelines}
    frame = results.frame(tested)
    rows = pandas.DataFrame(index=pandas.Index([*tested], name="system"))
    candidates = answered_sizes(study.run(baseline(study)).scores())
    rows["kind"] = [pipeline.kind for pipeline in pipelines]
    rows[COST] = [operations(pipeline, candidates) / 1e6 for pipeline in pipelines]
    models = [[study.runs(name)[0].facts["parameters"] for name in pipeline.systems] for pipeline in pipelines]
    rows["parameters"] = [sum(parameters) for parameters in models]
    rows["seeds"] = [len(seeds) for seeds in tested.values()]
    rows = rows.join(results.mean_and_spread(frame)[["MAP", "MAP ±", "P@1", "P@1 ±"]])
    dev = {pipeline.label: scores(study, pipeline, "dev") for pipeline in pipelines if can_be_chosen(study, pipeline)}
    rows["dev MAP"] = results.mean_and_spread(results.frame(dev))["MAP"]
    cost = rows[COST].to_numpy()
    values = frame.pivot_table("AP", "question_id", "system", sort=False)[rows.index].to_numpy()  # means over seeds
    rows["front"] = front(cost, values.mean(axis=0))
    for place in numpy.flatnonzero(rows["front"]):  # half the 95 % interval of a difference to it, over questions
        half = 196 * (values - values[:, [place]]).std(axis=0) / math.sqrt(len(values))
        rows.attrs[rows.index[place]] = float(numpy.median(half[half > 0])) if (half > 0).any() else 0.0
    rows[SHARE] = 100 * shares(cost, values, RESAMPLES)
    return rows.sort_values([COST, "MAP"], kind="stable")


def shares(cost: numpy.ndarray, values: numpy.ndarray, resamples: int) -> numpy.ndarray:
    """In which share of bootstrap samples of the questions each system is on the front: (s,).  values: (q, s)."""
    questions = len(values)
    drawn = numpy.random.default_rng(0).multinomial(questions, numpy.full(questions, 1 / questions), resamples)
    return front(cost, drawn @ values / questions).mean(axis=0)


def points(study: Study, rows: pandas.DataFrame, main: Iterable[str]) -> pandas.DataFrame:
    """What a figure of the `rows` of `by_cost` shows, by label: cost (the labels-only student: 1), MAP and front.

    main: names of systems; the first of them, of those on the front, and the baseline, which costs nothing, have a
    `label`.  band: how far below a system on the front another cannot be distinguished from it, half of the 95 %
    interval of a difference over questions.  Other pipelines that cost nothing are left out.
    """
    labels = {name: system.label for name, system in study.systems.items()}
    groups = {system.label: system.group for system in study.systems.values()}
    drawn = pandas.DataFrame({"cost": rows[COST] / rows.loc[labels[roles(study).base], COST], "value": rows["MAP"]})
    drawn["spread"], drawn["front"] = rows["MAP ±"].fillna(0), rows["front"]
    drawn["group"] = [groups.get(name, "") for name in rows.index]
    drawn["band"] = [rows.attrs.get(name) for name in rows.index]
    floor = rows.index == labels[baseline(study)]
    best = rows.index[rows["front"] & (rows[COST] > 0)][::-1]
    named = [name for name in dict.fromkeys([*(labels.get(name) for name in main), *best]) if name in rows.index]
    drawn["label"] = rows.index.where(rows.index.isin(named[:NAMED]) | floor, "")
    return drawn[(drawn["cost"] > 0) | floor]


def budgets(rows: pandas.DataFrame, unit: float) -> pandas.DataFrame:
    """For each budget, in `unit` millions of operations: the best system on dev, and in hindsight on the test set."""
    table = {}
    for budget in BUDGETS:
        within = rows[rows[COST] <= budget * unit * (1 + 1e-9)]
        name = within["dev MAP"].idxmax()  # the first, which is the cheapest
        choice, best = within.loc[name], within["MAP"].idxmax()
        row = {"system": name, "cost ×": choice[COST] / unit}
        row |= choice[["parameters", "seeds", "dev MAP", "MAP", "P@1"]].to_dict()
        table[f"{budget:g}"] = row | {"in hindsight": best, "lost": within.loc[best, "MAP"] - choice["MAP"]}
    return pandas.DataFrame.from_dict(table, orient="index").rename_axis("budget ×")
