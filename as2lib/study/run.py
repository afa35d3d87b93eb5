"""What a run, a system and a notebook are; knows no file and makes nothing."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

VERSIONS = {"lexical": 1, "fit": 2, "ensemble": 2, "shuffled": 1}  # raised when what a kind means changes


@dataclass(frozen=True, eq=False)
class Run:
    """One trained or derived scorer: all that makes it, as plain JSON values, and the runs it is made from.

    name: such as "mhs/3h1/seed-0".
    kind: "lexical", "fit", "ensemble" or "shuffled" (another run's model over lists in a random order).
    data: role ("train", "dev", "test", "vocabulary") → `source:split` parts.
    parents: role ("start", whose weights it continues; "teachers"; "members"; "model") → runs.
    """

    name: str
    kind: str
    spec: dict[str, Any]
    data: dict[str, tuple[str, ...]]
    seed: int
    parents: dict[str, tuple["Run", ...]] = field(default_factory=dict)

    def __repr__(self) -> str:  # its parents and theirs would fill a screen
        return f"Run({self.name!r}, kind={self.kind!r})"

    @property
    def system(self) -> str:
        """Such as "mhs/3h1"."""
        return self.name.rsplit("/seed-", 1)[0]

    def encoders(self) -> list[str]:
        """The names of the pretrained encoders that it starts from, or whose words it reads."""
        vectors = self.spec.get("words", {}).get("vectors", {})
        names = [self.spec.get("backbone", {}).get("name"), vectors.get("source") == "encoder" and vectors["name"]]
        return [name for name in names if name]

    def parent_runs(self) -> list["Run"]:
        """The runs that it is made from directly."""
        return [parent for runs in self.parents.values() for parent in runs]

    def ancestors(self) -> Iterator["Run"]:
        """Every run that it is made from, parents before children; one may come several times."""
        for parent in self.parent_runs():
            yield from parent.ancestors()
            yield parent

    def content(self) -> tuple[Any, ...]:
        """What two runs of one name have to agree in."""
        parents = {role: [run.name for run in runs] for role, runs in self.parents.items()}
        data = {role: list(parts) for role, parts in self.data.items()}
        return self.kind, self.spec, data, self.seed, parents


@dataclass(frozen=True)
class System:
    """A row of a paper's table.

    run: the name of its runs without the seed ("mhs/3h1"), and the key of `published/*.csv` and of `claims.csv`.
    label: the only name it has, wherever a person reads it ("MHS").
    group: what colours and legends tell apart ("student", "teacher", "ensemble", "trivial", "cascade", …).
    make: seed → its run.  seeds: of its runs.
    """

    run: str
    label: str
    group: str
    make: Callable[[int], Run]
    seeds: tuple[int, ...] = (0,)

    def runs(self) -> list[Run]:
        return [self.make(seed) for seed in self.seeds]


@dataclass(frozen=True)
class Notebook:
    """One question, and the systems that answer it.

    name: such as "03_distillation".  timed: it measures time, so nothing may run beside it.
    files: patterns from the project's root of what it reads beside runs, and is run again for.
    """

    name: str
    question: str
    systems: tuple[System, ...] = ()
    timed: bool = False
    files: tuple[str, ...] = ()


def by_name(systems: Iterable[System]) -> dict[str, System]:
    """Name → system, each once, first seen first.  Raises ValueError where two that differ have one name."""
    first: dict[str, System] = {}
    for system in systems:
        other = first.setdefault(system.run, system)
        if (other.label, other.group, other.seeds) != (system.label, system.group, system.seeds):
            expected = "expected one system of that name"
            raise ValueError(f"{system.run}: {expected}, got {other.label!r} and {system.label!r}; rename one of them")
    return first


def plan(systems: Iterable[System]) -> dict[str, Run]:
    """Name → run, of these systems and of all that they are made from, parents before children."""
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

    for system in systems:
        for run in system.runs():
            add(run)
    return runs
