"""What a row, a run and a notebook are, as plain values, and those of the papers; knows no file and makes nothing.

Importing this brings in neither torch nor numpy, so that a study is planned at once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from types import ModuleType
from typing import Any, TypeAlias

from as2lib.fit import objectives
from as2lib.models import COSINE

Study: TypeAlias = Any  # that of study.py, which stands above
# Of each kind of run: raised when what it computes changes.
VERSIONS = {"fit": 2, "ensemble": 2, "lexical": 1, "ranker": 1, "shuffled": 1}
UNSEEDED = -1  # stands for the seed of a ranker that none changes
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")  # of a teacher's scores
Parent = "str | Row | tuple[str | Row, int]"  # a system's name or a row, perhaps with a seed of its own
Parents = Mapping[str, "tuple[Parent, ...] | Callable[[int], tuple[Parent, ...]]"]


class Scorer:
    """What the kind and the specification of a row, or of a run, say of it.

    kind: "fit", "ensemble", "lexical", "ranker" (taken as it is), "shuffled" (a model over lists in a random order).
    spec: what identifies it beside data, parents and seed, as JSON values, the keys that are set alone:
        lexical   scorer: a function of `models.lexical`
        ranker    max_length; source: "cosine:NAME" of a sentence encoder, the file of a teacher's scores, or else a
                  reranker by its hub name or folder
        ensemble  combine: "mean", "weighted" by so many `trials` on dev, "logistic"; calibration
        fit       loss; training: how long and how fast, as `fit.train` takes it; unit: what stays together in a batch;
                  leave_out: [n, folds] of the questions; unlabelled: learns from a pool; shuffle: from random orders;
                  words: a model over static vectors, `type` and what it takes; or of a cross-encoder max_length,
                  backbone: {"name", "layers"} or {"config"} where it continues no other fit; layers: those it keeps;
                  reads: "mean" of all tokens; model: a function of one's own; dropout, attention; alpha, tau,
                  settings: of the loss; schedule: of a cascade's exits; calibration: of teachers;
                  mhs: body, heads, combine, perturb; or cascade: exits, stop_gradient, pooling
    """

    kind: str
    spec: Mapping[str, Any]

    @property
    def seeded(self) -> bool:
        return self.kind not in ("lexical", "ranker")

    @property
    def family(self) -> str:
        """What a reader calls its kind."""
        names = {"lexical": "trivial", "ranker": "taken as it is", "ensemble": "ensemble", "shuffled": ""}
        parts = {"words": "no transformer", "mhs": "heads", "cascade": "cascade"}
        of_fit = next((name for part, name in parts.items() if part in self.spec), "one encoder")
        return names.get(self.kind, of_fit)

    @property
    def orders_only(self) -> bool:
        """Whether its scores are no probabilities."""
        if self.kind == "fit":
            return (self.spec.get("unit") or objectives.declared(self.spec["loss"]).unit) == "question"
        return self.scheme == "cosine"

    @property
    def scheme(self) -> str:
        """Of a ranker that is taken as it is: "cosine", "scores" or "reranker"; "" of any other."""
        if self.kind != "ranker":
            return ""
        source = self.spec["source"]
        return "cosine" if source.startswith(COSINE) else "scores" if source.endswith(TABLE_ENDINGS) else "reranker"

    @property
    def encoders(self) -> list[str]:
        """The pretrained model from which it starts, whose words it reads, or that it is; or a file of scores."""
        if self.kind == "ranker":
            return [self.spec["source"].removeprefix(COSINE)]
        vectors = self.spec.get("words", {}).get("vectors", {})
        name = vectors.get("name") if vectors.get("source") == "encoder" else self.spec.get("backbone", {}).get("name")
        return [name] if name else []


@dataclass(frozen=True)
class Run(Scorer):
    """One trained or derived scorer: all that makes it, and the runs it is made from.

    name: such as "mhs/3h1/seed-0".  data: role ("train", "dev", "test", "vocabulary") → `source:split` parts.
    parents: role ("start", whose weights it continues; "teachers"; "members"; "model") → runs.
    computing: `threads` and `precision`, where its scores depend on them.
    """

    name: str
    kind: str
    seed: int
    spec: Mapping[str, Any] = field(repr=False)
    data: Mapping[str, tuple[str, ...]] = field(repr=False)
    parents: Mapping[str, tuple["Run", ...]] = field(default_factory=dict, repr=False)  # theirs would fill a screen
    computing: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def system(self) -> str:
        """The name of its row, such as "mhs/3h1"."""
        return self.name.rsplit("/seed-", 1)[0]

    @property
    def number(self) -> int:
        """Its seed, by which it is paired with others; `UNSEEDED` of a ranker that none changes."""
        return self.seed if self.seeded else UNSEEDED

    def parent_runs(self) -> list["Run"]:
        """The runs that it is made from directly."""
        return [parent for runs in self.parents.values() for parent in runs]

    def lineage(self) -> list["Run"]:
        """The fits that its model went through, the first one first."""
        [before] = [start.lineage() for start in self.parents.get("start", ())] or [[]]
        return [*before, self]


@dataclass(frozen=True)
class Row(Scorer):
    """A row of a paper's table, a system, and what its runs have in common.

    run: the name of its runs without the seed ("mhs/3h1"), and the key of `published/*.csv` and of `claims.csv`.
    label: the only name it has, wherever a person reads it ("MHS").
    group: what colours and legends tell apart ("heads", "teacher", "one teacher", "labels only", "ensemble", …).
    data: as a run's.  parents: role → what they are made from, by name or row; or a function of the seed.
    seeds: of its runs; None: the study's; `rows` of a study's file replaces them.
    """

    run: str
    label: str
    group: str
    kind: str
    spec: Mapping[str, Any]
    data: Mapping[str, tuple[str, ...]]
    parents: Parents = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None

    def of(self, study: Study) -> "Row":
        """The row with the seeds that a study gives it; (): not run."""
        own = study.seeds if self.seeds is None else self.seeds
        replaced = study.rows.get(self.run)
        return replace(self, seeds=tuple(own if replaced is None else replaced))

    def make(self, study: Study, seed: int) -> Run:
        """Its run of a seed, with all that this is made from."""
        parents = {}
        for role, named in self.parents.items():
            named = named(seed) if callable(named) else named
            parents[role] = tuple(_parent(study, parent, seed) for parent in named)
        spec = self.spec
        if any(member.orders_only for member in parents.get("members", ())):  # these are calibrated first
            spec = {**spec, "calibration": "platt"}
        name, seed = (f"{self.run}/seed-{seed}", seed) if self.seeded else (self.run, 0)
        counts = {"fit": ("threads", "precision"), "ranker": ("precision",)}.get(self.kind, ())
        return Run(name, self.kind, seed, spec, self.data, parents, {name: getattr(study, name) for name in counts})

    def runs(self, study: Study) -> list[Run]:
        return [self.make(study, seed) for seed in self.seeds]


def _parent(study: Study, parent: Parent, seed: int) -> Run:
    """The run of a system, by its name, or of a row: of the seed that is named, the child's, or the row's first."""
    row, of_seed = parent if isinstance(parent, tuple) else (parent, None)
    row = row.of(study) if isinstance(row, Row) else study.systems[row]
    if of_seed is None:
        of_seed = seed if seed in row.seeds or not row.seeds else row.seeds[0]
    return row.make(study, of_seed)


@dataclass(frozen=True)
class Notebook:
    """One question, and the systems that answer it.

    name: such as "03_distillation".  timed: it measures time, so nothing may run beside it.
    files: patterns from the project's root of what it reads beside runs, and is run again for.
    """

    name: str
    question: str
    systems: tuple[Row, ...] = ()
    timed: bool = False
    files: tuple[str, ...] = ()


def by_name(rows: Iterable[Row]) -> dict[str, Row]:
    """Name → row, each once, first seen first.  Raises ValueError where two that differ have one name, or one label."""
    first, labels = {}, {}
    for row in rows:
        other = first.setdefault(row.run, row)
        if (other.label, other.group, other.seeds) != (row.label, row.group, row.seeds):
            raise ValueError(f"{row.run}: expected one system of that name, got {other.label!r} and {row.label!r}")
        if (other_run := labels.setdefault(row.label, row.run)) != row.run:  # tables and figures tell rows by them
            raise ValueError(f"{row.run}: label: expected one of its own, got that of {other_run}, {row.label!r}")
    return first


def plan(study: Study, rows: Iterable[Row], known: Mapping[str, Run] | None = None) -> dict[str, Run]:
    """Name → run: those known, and those of these rows and of all that they are made from, parents before children."""
    runs = dict(known or {})

    def add(run: Run) -> None:
        for parent in run.parent_runs():
            add(parent)
        if runs.setdefault(run.name, run) != run:
            raise ValueError(f"{run.name}: expected one run of that name, got two that differ; rename one of them")

    for row in rows:
        for run in row.runs(study):
            add(run)
    return runs


# Section of a study's file that asks for a paper → its module, in reading order, as `as2lib.papers` registers them.
# Each has `systems(study)`, `notebooks(study)` or both; and, for a table of its own, `table2(study)`.
PAPERS: dict[str, ModuleType] = {}


def of_each_paper(study: Study, function: str) -> list[Any]:
    """What a function of each paper gives that the study asks for; every study asks for what has no section."""
    papers = [paper for section, paper in PAPERS.items() if getattr(study, section, True) and hasattr(paper, function)]
    return list(chain.from_iterable(getattr(paper, function)(study) for paper in papers))
