"""What a row, a run and a notebook are; knows no file and makes nothing."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from as2lib.study.recipes import Parent, Recipe

if TYPE_CHECKING:
    from as2lib.study.study import Study

UNSEEDED = -1  # stands for the seed of a ranker that none changes
RUN_NAME = re.compile(r"\w[\w.+-]*(/\w[\w.+-]*)*")


@dataclass(frozen=True, eq=False)
class Run:
    """One trained or derived scorer: all that makes it, and the runs it is made from.

    name: such as "mhs/3h1/seed-0".  parents: role ("start", "teachers", "members", "model") → runs.
    """

    name: str
    recipe: Recipe
    seed: int
    parents: Mapping[str, tuple["Run", ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not RUN_NAME.fullmatch(self.name):  # it names files and folders, also of a stranger's index
            raise ValueError(f"expected a run's name, such as mhs/3h1/seed-0, got {self.name!r:.60}")

    def __repr__(self) -> str:  # its parents and theirs would fill a screen
        return f"Run({self.name!r}, kind={self.kind!r})"

    @property
    def system(self) -> str:
        """The name of its row, such as "mhs/3h1"."""
        return self.name.rsplit("/seed-", 1)[0]

    @property
    def kind(self) -> str:
        return self.recipe.kind

    @property
    def number(self) -> int:
        """Its seed, by which it is paired with others; `UNSEEDED` of a ranker that none changes."""
        return self.seed if self.recipe.seeded else UNSEEDED

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies it beside its data, seed and parents, as plain JSON values."""
        return self.recipe.spec

    @property
    def data(self) -> Mapping[str, tuple[str, ...]]:
        """Role ("train", "dev", "test", "vocabulary") → `source:split` parts."""
        return self.recipe.data

    def parent_runs(self) -> list["Run"]:
        """The runs that it is made from directly."""
        return [parent for runs in self.parents.values() for parent in runs]

    def lineage(self) -> list["Run"]:
        """The fits that its model went through, the first one first."""
        [before] = [start.lineage() for start in self.parents.get("start", ())] or [[]]
        return [*before, self]

    def content(self) -> tuple[Any, ...]:
        """What two runs of one name have to agree in."""
        parents = {role: [run.name for run in runs] for role, runs in self.parents.items()}
        return self.kind, self.spec, dict(self.data), self.seed, parents


@dataclass(frozen=True)
class Row:
    """A row of a paper's table, a system.

    run: the name of its runs without the seed ("mhs/3h1"), and the key of `published/*.csv` and of `claims.csv`.
    label: the only name it has, wherever a person reads it ("MHS").
    group: what colours and legends tell apart ("heads", "teacher", "one teacher", "untaught", "ensemble", …).
    seeds: of its runs; None: the study's; `rows` of a study's file replaces them.
    """

    run: str
    label: str
    group: str
    recipe: Recipe
    seeds: tuple[int, ...] | None = None

    def of(self, study: "Study") -> "Row":
        """The row with the seeds that a study gives it; (): not run."""
        own = study.seeds if self.seeds is None else self.seeds
        replaced = study.rows.get(self.run)
        return replace(self, seeds=tuple(own if replaced is None else replaced))

    def make(self, study: "Study", seed: int) -> Run:
        """Its run of a seed, with all that this is made from."""
        parents = {}
        for role, named in self.recipe.parents.items():
            named = named(seed) if callable(named) else named
            parents[role] = tuple(_parent(study, parent, seed) for parent in named)
        recipe = self.recipe.made_from(parents)
        return Run(f"{self.run}/seed-{seed}", recipe, seed, parents) if recipe.seeded else Run(self.run, recipe, 0)

    def runs(self, study: "Study") -> list[Run]:
        return [self.make(study, seed) for seed in self.seeds]


def _parent(study: "Study", parent: Parent, seed: int) -> Run:
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
    parts: what it reads beside the scores of some systems, by their names: "heads", "exits", or "last", what the
        weights after the last step score.
    """

    name: str
    question: str
    systems: tuple[Row, ...] = ()
    timed: bool = False
    files: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def by_name(rows: Iterable[Row]) -> dict[str, Row]:
    """Name → row, each once, first seen first.  Raises ValueError where two that differ have one name, or one label."""
    first: dict[str, Row] = {}
    labels: dict[str, str] = {}
    for row in rows:
        other = first.setdefault(row.run, row)
        if (other.label, other.group, other.seeds) != (row.label, row.group, row.seeds):
            expected = "expected one system of that name"
            raise ValueError(f"{row.run}: {expected}, got {other.label!r} and {row.label!r}; rename one of them")
        if (other_run := labels.setdefault(row.label, row.run)) != row.run:  # tables and figures tell rows by them
            raise ValueError(f"{row.run}: label: expected one of its own, got that of {other_run}, {row.label!r}")
    return first


def plan(study: "Study", rows: Iterable[Row]) -> dict[str, Run]:
    """Name → run, of these rows and of all that they are made from, parents before children."""
    runs: dict[str, Run] = {}

    def add(run: Run) -> None:
        known = runs.get(run.name)
        if known is run:
            return
        for parent in run.parent_runs():
            add(parent)
        if known is None:
            runs[run.name] = run
        elif known.content() != run.content():
            raise ValueError(f"{run.name}: expected one run of that name, got two that differ; rename one of them")

    for row in rows:
        for run in row.runs(study):
            add(run)
    return runs
