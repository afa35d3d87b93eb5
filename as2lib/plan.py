"""Which runs each table of the papers needs: a pure function of a study; loads no data and no model."""

from dataclasses import dataclass, field
from typing import Any

from as2lib.params import FAMILIES, SIZES, Backbone, Pairs, Study, Training

STUDENT = FAMILIES[0]  # the student's family: every distilled row but 7 and 8 starts from its base model

# Raised when the code of a kind of run changes what it produces.
VERSIONS = {"lexical": 1, "fit": 1, "ensemble": 1}


@dataclass(frozen=True)
class Run:
    """One trained or derived scorer: all that makes it, as plain JSON values.

    parents: role → names of the runs it is made from (`start`: whose weights it continues; `teachers`; `members`).
    data: role → `source:split` parts (`train`, `dev`, `test`, `vocabulary`).
    group: fits of one group share a process.
    """

    name: str
    kind: str
    spec: dict[str, Any]
    data: dict[str, list[str]]
    seed: int
    group: str
    parents: dict[str, list[str]] = field(default_factory=dict)

    @property
    def parent_names(self) -> list[str]:
        return [name for names in self.parents.values() for name in names]


@dataclass(frozen=True)
class Notebook:
    """One question, and the runs that answer it."""

    name: str
    question: str
    reproduces: str
    runs: list[str]


def plan(study: Study) -> dict[str, Run]:
    """Every run of the study by name; parents come before children."""
    runs = [*lexical(study), *transfer(study), *teachers(study), *direct(study), *students(study), *ensembles(study)]
    return {run.name: run for run in runs}


def notebooks(study: Study) -> list[Notebook]:
    """The study's notebooks in reading order, each with the names of the runs it reads."""
    trivial, transferred = _names(lexical(study)), _names(transfer(study))
    taught, alone, distilled = _names(teachers(study)), _names(direct(study)), _names(students(study))
    ensembled = _names(ensembles(study))
    return [
        Notebook("00_overview", "What did the study find, and can I trust it?", "the index page", []),
        Notebook(
            "01_data",
            "What do the data look like, do the splits leak, and how far do trivial rankers get?",
            "CERBERUS Table 1 (statistics), Cosinet Table 2 (trivial rankers)",
            trivial,
        ),
        Notebook(
            "02_teachers",
            "How good are the teachers, and what does transfer-then-adapt add?",
            "CERBERUS Table 2, rows 1–6",
            [*trivial, *transferred, *taught, *alone],
        ),
        Notebook(
            "03_distillation",
            "Does one model with k heads match the ensemble?",
            "CERBERUS Table 2, rows 7–9, 12 and 14",
            [*trivial, *taught, *distilled, *ensembled],
        ),
    ]


def lexical(study: Study) -> list[Run]:
    """The trivial rankers that every table shows (Cosinet, section 2.1): nothing is trained."""
    data = {"dev": study.data.target.dev, "test": study.data.target.test}
    scorers = ("reciprocal_rank", "word_overlap", "overlap_then_rank")
    return [Run(f"lexical/{scorer}", "lexical", {"scorer": scorer}, data, 0, "lexical") for scorer in scorers]


def transfer(study: Study) -> list[Run]:
    """The first step of transfer-then-adapt (TANDA): each encoder fine-tuned on the transfer set, once."""
    return [
        _from_backbone(study, f"transfer/{family}-{size}/seed-0", family, size, study.fit.transfer, "transfer")
        for family in FAMILIES
        for size in SIZES
    ]


def teachers(study: Study) -> list[Run]:
    """CERBERUS Table 2, rows 1-6: the large teachers and the base models, adapted to the target set."""
    runs = []
    for family in FAMILIES:
        for size, role in zip(SIZES, ("teacher", "base"), strict=True):
            for seed in study.seeds:
                group = f"{family}-{size}"
                runs.append(_adapt(study, f"{role}/{family}", family, size, {"loss": "ce"}, seed, group))
    return runs


def direct(study: Study) -> list[Run]:
    """Rows 1-6 without the transfer step: what the transfer adds is measured against these."""
    return [
        _from_backbone(study, f"direct/{family}-{size}/seed-{seed}", family, size, study.fit.direct, "target", seed)
        for family in FAMILIES
        for size in SIZES
        for seed in study.grid_seeds
    ]


def students(study: Study) -> list[Run]:
    """CERBERUS Table 2, rows 7-9, the members of row 12, and row 14.

    Each starts from its base model after the transfer step; distillation takes the place of the adapt step.
    """
    kd = {"loss": "kd", **study.distillation.model_dump()}
    runs = []
    for seed in study.seeds:
        for teacher in FAMILIES:
            for student in dict.fromkeys((teacher, STUDENT)):
                name = f"kd/{student}" if teacher == student else f"kd/{student}-from-{teacher}"
                by = [f"teacher/{teacher}/seed-{seed}"]
                runs.append(_adapt(study, name, student, "base", kd, seed, f"students-{seed}", by))
        heads = [f"teacher/{family}/seed-{seed}" for family in FAMILIES]
        shape = {"body": study.mhs.body, "heads": len(FAMILIES), "combine": study.mhs.combine}
        objective = {**kd, "loss": "per_head", "mhs": shape}
        runs.append(_adapt(study, "mhs/3h1", STUDENT, "base", objective, seed, f"mhs-{seed}", heads))
    return runs


def ensembles(study: Study) -> list[Run]:
    """Row 12 (three students of one family, a teacher each), and the mean of the three teachers themselves."""
    distilled = [f"kd/{STUDENT}", *(f"kd/{STUDENT}-from-{family}" for family in FAMILIES[1:])]
    members = {"distilled": distilled, "teachers": [f"teacher/{family}" for family in FAMILIES]}
    data = {"dev": study.data.target.dev, "test": study.data.target.test}
    return [
        Run(
            f"ensemble/{name}/seed-{seed}",
            "ensemble",
            {"combine": "mean"},
            data,
            seed,
            f"students-{seed}",
            {"members": [f"{prefix}/seed-{seed}" for prefix in prefixes]},
        )
        for name, prefixes in members.items()
        for seed in study.seeds
    ]


def _from_backbone(
    study: Study, name: str, family: str, size: str, training: Training, onto: str, seed: int = 0
) -> Run:
    backbone: Backbone = getattr(study.backbones[family], size)
    pairs = (backbone.transfer or study.data.transfer) if onto == "transfer" else study.data.target
    changes = backbone.transfer_fit if onto == "transfer" else backbone.adapt_fit
    data = _data(pairs)
    if backbone.config is not None:
        data["vocabulary"] = [*study.data.transfer.train, *study.data.target.train]
    origin = backbone.model_dump(include={"name", "layers", "config"}, exclude_none=True)
    spec = {"backbone": origin, "loss": "ce", **_settings(study, training, changes)}
    return Run(name, "fit", spec, data, seed, f"{family}-{size}" if onto == "transfer" else "direct")


def _adapt(
    study: Study,
    prefix: str,
    family: str,
    size: str,
    objective: dict[str, Any],
    seed: int,
    group: str,
    teachers: list[str] | None = None,
) -> Run:
    changes = getattr(study.backbones[family], size).adapt_fit
    spec = {**objective, **_settings(study, study.fit.adapt, changes)}
    parents = {"start": [f"transfer/{family}-{size}/seed-0"]} | ({"teachers": teachers} if teachers else {})
    return Run(f"{prefix}/seed-{seed}", "fit", spec, _data(study.data.target), seed, group, parents)


def _settings(study: Study, training: Training, changes: dict[str, Any]) -> dict[str, Any]:
    merged = {**training.model_dump(exclude_none=True), **changes}
    return {"max_length": study.data.max_length, "training": Training(**merged).model_dump(exclude_none=True)}


def _data(pairs: Pairs) -> dict[str, list[str]]:
    return {role: parts for role, parts in pairs.model_dump().items() if parts}


def _names(runs: list[Run]) -> list[str]:
    return [run.name for run in runs]
