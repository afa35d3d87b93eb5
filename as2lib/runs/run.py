"""What a run and a notebook are, and the pieces that every paper's plan is built from."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from as2lib.runs.params import Backbone, Pairs, Training

if TYPE_CHECKING:
    from as2lib.runs.finished import Finished
    from as2lib.study import Study

# Raised when the code of a kind of run changes what it produces.
VERSIONS = {"lexical": 1, "fit": 1, "ensemble": 1, "select": 1, "shuffled": 1}
READING = ("lexical", "fit")  # kinds that read texts; the others are made of what these left


@dataclass(frozen=True)
class Run:
    """One trained or derived scorer: all that makes it, as plain JSON values.

    parents: role → names of the runs it is made from (`start`: whose weights it continues; `teachers`;
    `members`; `settings`: the search whose best point it takes).
    data: role → `source:split` parts (`train`, `dev`, `test`, `vocabulary`).
    group: fits of one group share a process.
    precision, kernels: what its fit computes with; none: as its study says.
    """

    name: str
    kind: str
    spec: dict[str, Any]
    data: dict[str, list[str]]
    seed: int
    group: str
    parents: dict[str, list[str]] = field(default_factory=dict)
    precision: str | None = None
    kernels: bool | None = None

    @property
    def parent_names(self) -> list[str]:
        return [name for names in self.parents.values() for name in names]


@dataclass(frozen=True)
class Job:
    """A run to make, and all that making it needs.

    run: with the settings that a search picked.  parents: role → finished runs, each with parents of its own.
    lineage: the run and those whose weights it continues, the first one first.  study: its name.
    threads, precision, kernels: what a fit computes with.  pairs: what its user calls those it learns from, if not by
    `source:split`.
    """

    run: Run
    identity: str
    parents: dict[str, list["Finished"]]
    lineage: list[Run]
    study: str
    threads: int
    precision: str
    kernels: bool
    pairs: str = ""


@dataclass(frozen=True)
class System:
    """A row of tables and figures: the prefix of its runs, what they call it, and in which colour.

    short: in comparisons and legends; default: the label up to its first bracket.
    """

    prefix: str
    label: str
    kind: str = ""
    short: str = ""

    @property
    def name(self) -> str:
        return self.short or self.label.split(" (")[0]


@dataclass(frozen=True)
class Notebook:
    """One question, and the runs that answer it.

    timed: it measures time, so nothing may run beside it.  files: what it reads besides runs, from the root.
    """

    name: str
    question: str
    reproduces: str
    runs: list[str]
    timed: bool = False
    files: tuple[str, ...] = ()


def from_backbone(
    study: "Study",
    name: str,
    family: str,
    size: str,
    training: Training,
    onto: str,
    group: str,
    seed: int = 0,
    objective: dict[str, Any] | None = None,
    teachers: list[str] | None = None,
) -> Run:
    """A model trained from pretrained weights, or from nothing.

    onto: "transfer" or "target".  objective: the loss and its settings; default: cross entropy.
    """
    backbone: Backbone = getattr(study.backbones[family], size)
    pairs = (backbone.transfer or study.data.transfer) if onto == "transfer" else study.data.target
    changes = backbone.transfer_fit if onto == "transfer" else backbone.adapt_fit
    data = roles(pairs)
    if backbone.config is not None:
        data["vocabulary"] = vocabulary(study)
    origin = backbone.model_dump(include={"name", "layers", "config"}, exclude_none=True)
    spec = {"backbone": origin, **(objective or {"loss": "ce"}), **settings(study, training, changes)}
    return Run(name, "fit", spec, data, seed, group, {"teachers": teachers} if teachers else {})


def adapt(
    study: "Study",
    prefix: str,
    family: str,
    size: str,
    objective: dict[str, Any],
    seed: int,
    group: str,
    teachers: list[str] | None = None,
) -> Run:
    """The second step, on the target set, of an encoder that was fine-tuned on the transfer set."""
    changes = getattr(study.backbones[family], size).adapt_fit
    spec = {**objective, **settings(study, study.fit.adapt, changes)}
    parents = {"start": [f"transfer/{family}-{size}/seed-0"]} | ({"teachers": teachers} if teachers else {})
    return Run(f"{prefix}/seed-{seed}", "fit", spec, roles(study.data.target), seed, group, parents)


def settings(study: "Study", training: Training, changes: dict[str, Any]) -> dict[str, Any]:
    """What a spec says of a fit's budget, `changes` put over it."""
    merged = {**training.model_dump(exclude_none=True), **changes}
    return {"max_length": study.data.max_length, "training": Training(**merged).model_dump(exclude_none=True)}


def vocabulary(study: "Study") -> list[str]:
    """The parts whose words an encoder that starts from nothing, or vectors made of text, know: each once."""
    return list(dict.fromkeys([*study.data.transfer.train, *study.data.target.train]))


def roles(pairs: Pairs) -> dict[str, list[str]]:
    """The splits that a pair set has, as a run's `data`."""
    return {role: parts for role, parts in pairs.model_dump().items() if parts}


def scored(study: "Study") -> dict[str, list[str]]:
    """What a run that trains nothing is scored on."""
    return {"dev": study.data.target.dev, "test": study.data.target.test}


def prefix_of(name: str) -> str:
    """The system of a run: its name without the seed."""
    return name.rsplit("/seed-", 1)[0]


def of_systems(study: "Study", prefixes: Iterable[str]) -> list[str]:
    """The names of the planned runs of these systems, by their prefixes, in the plan's order."""
    wanted = set(prefixes)
    return [name for name in study.plan if prefix_of(name) in wanted]


def names(runs: Iterable[Run]) -> list[str]:
    return [run.name for run in runs]
