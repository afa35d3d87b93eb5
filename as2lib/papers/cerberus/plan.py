"""The runs of the CERBERUS paper, one function a part of a table, and the trivial rankers that every table shows."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.resources import files
from itertools import product
from typing import TYPE_CHECKING

from as2lib.papers.cerberus import systems
from as2lib.papers.cerberus.params import Longer, Second
from as2lib.papers.cerberus.systems import HEADS, ROLES, STUDENT
from as2lib.runs.params import FAMILIES, SIZES
from as2lib.runs.run import Notebook, Run, adapt, from_backbone, names, of_systems, prefix_of, roles, scored
from as2lib.runs.search import searched

if TYPE_CHECKING:
    from as2lib.study import Study


NOTEBOOKS = {  # name → its question, and what it reproduces
    "01_data": (
        "What do the data look like, do the splits leak, and how far do trivial rankers get?",
        "CERBERUS Table 1 (statistics), Cosinet Table 2 (trivial rankers)",
    ),
    "02_teachers": ("How good are the teachers, and what does transfer-then-adapt add?", "CERBERUS Table 2, rows 1–6"),
    "03_distillation": ("Does one model with k heads match the ensemble?", "CERBERUS Table 2, rows 7–14, and Table 3"),
    "04_mhs_configs": ("How many layers should a head have?", "CERBERUS Table 4"),
    "05_latency": ("What does each model cost to run?", "CERBERUS Table 5"),
    "06_head_teacher_agreement": ("Do heads resemble their teachers?", "CERBERUS Figure 3 and its majority analysis"),
    "07_significance": (
        "Which differences are real, and which models are equal?",
        "the tests named in CERBERUS Table 2",
    ),
}


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children."""
    first = [*lexical(study), *transfer(study), *teachers(study), *direct(study)]
    made = [*first, *students(study), *ensembles(study), *strategies(study), *configurations(study)]
    return searched(study, [*made, *on_transfer(study)])


def notebooks(study: "Study") -> list[Notebook]:
    """Notebooks 01 to 07, each with the names of the runs behind its rows of the catalogue."""
    called, models = systems.systems(study), systems.models(study)
    several = [*systems.students(study), *systems.strategies(study), *systems.on_second(study)]
    rows = {
        "02_teachers": [*models, *systems.direct(study)],
        "03_distillation": [*models, *several],
        "04_mhs_configs": [called["base/electra"], called["mhs/3h1"], *systems.configurations(study)],
        "06_head_teacher_agreement": [*models, called["mhs/3h1"]],
    }
    trivial = [row.prefix for row in systems.TRIVIAL]
    prefixes = {name: [*trivial, *(row.prefix for row in found)] for name, found in rows.items()}
    for name in ("02_teachers", "03_distillation"):  # their curves
        prefixes[name] += [systems.LONGER + prefix for prefix in prefixes[name]]
    prefixes["07_significance"] = [*trivial, *claimed(study)]
    read = {name: of_systems(study, found) for name, found in prefixes.items()} | {"05_latency": []}
    read["01_data"] = [name for name, run in study.plan.items() if run.kind == "lexical"]  # of every set it describes
    timed = {"04_mhs_configs", "05_latency"} if study.latency else set()
    return [
        Notebook(name, *texts, read[name], name in timed)
        for name, texts in NOTEBOOKS.items()
        if study.latency or name != "05_latency"
    ]


def claimed(study: "Study") -> list[str]:
    """The prefixes of both systems of every pair that the paper compares, where both are planned, at either budget."""
    planned = {prefix_of(name) for name in study.plan}
    ours = {row: prefix for prefix, row in systems.stands_for(study).items()}
    with files("as2lib.papers.cerberus").joinpath("published", "claims.csv").open(encoding="utf-8") as file:
        pairs = [[ours.get(row[name], row[name]) for name in ("a", "b")] for row in csv.DictReader(file)]
    found = [prefix for pair in pairs if planned.issuperset(pair) for prefix in pair]
    return [*found, *(systems.LONGER + prefix for prefix in found)]


def lexical(study: "Study") -> list[Run]:
    """The trivial rankers that every table shows (Cosinet, section 2.1): nothing is trained."""
    names = [row.prefix for row in systems.TRIVIAL]
    return [Run(name, "lexical", {"scorer": name.split("/")[1]}, scored(study), 0, "lexical") for name in names]


def transfer(study: "Study") -> list[Run]:
    """The first step of transfer-then-adapt (TANDA): each encoder fine-tuned on the transfer set, once."""
    training, models = study.fit.transfer, [(f, size, f"{f}-{size}") for f, size in product(FAMILIES, SIZES)]
    return [
        from_backbone(study, f"transfer/{model}/seed-0", family, size, training, "transfer", model)
        for family, size, model in models
    ]


def teachers(study: "Study") -> list[Run]:
    """CERBERUS Table 2, rows 1-6: the large teachers and the base models, adapted to the target set."""
    return [
        adapt(study, f"{role}/{family}", family, size, {"loss": "ce"}, seed, f"{family}-{size}")
        for family, (size, role), seed in product(FAMILIES, ROLES.items(), study.seeds)
    ]


def direct(study: "Study") -> list[Run]:
    """Rows 1-6 without the transfer step: what the transfer adds is measured against these."""
    found, training = [], study.fit.direct
    for family, size, seed in product(FAMILIES, SIZES, study.grid_seeds):
        name = f"direct/{family}-{size}/seed-{seed}"
        found.append(from_backbone(study, name, family, size, training, "target", "direct", seed))
    return found


def students(study: "Study") -> list[Run]:
    """CERBERUS Table 2, rows 7-9, the members of row 12, and rows 13 and 14.

    Each starts from its base model after the transfer step; distillation takes the place of the adapt step.
    """
    kd, hydra, found = _balance(study, "kd"), hydra_teachers(study), []
    for seed in study.seeds:
        for student, teacher in _taught():
            name, by = _distilled(student, teacher), [f"teacher/{teacher}/seed-{seed}"]
            found.append(adapt(study, name, student, "base", kd, seed, f"students-{seed}", by))
        found.append(_mhs(study, "mhs/3h1", seed, f"mhs-{seed}"))
    found += [run for run in hydra if run.name.startswith("hydra-teacher/")]
    return found + [_mhs(study, "hydra/3h1", seed, f"mhs-{seed}", by=names(hydra)) for seed in study.seeds]


def hydra_teachers(study: "Study") -> list[Run]:
    """Row 13's teachers: base models of the student's family that differ by seed, one a head.

    Those of row 6, and where the study has fewer seeds than heads, more of them.
    """
    seeds = [*study.seeds, *range(max(study.seeds) + 1, max(study.seeds) + HEADS)][:HEADS]
    prefixes = [f"base/{STUDENT}" if seed in study.seeds else f"hydra-teacher/{STUDENT}" for seed in seeds]
    return [
        adapt(study, prefix, STUDENT, "base", {"loss": "ce"}, seed, f"{STUDENT}-base")
        for prefix, seed in zip(prefixes, seeds, strict=True)
    ]


def ensembles(study: "Study") -> list[Run]:
    """Rows 10-12, whose weights are tuned on dev, and the mean of the three teachers themselves."""
    members = _members() | {"teachers": [f"teacher/{family}" for family in FAMILIES]}
    return [
        _ensemble(study, f"ensemble/{name}", [f"{prefix}/seed-{seed}" for prefix in prefixes], seed)
        for name, prefixes in members.items()
        for seed in study.seeds
    ]


def strategies(study: "Study") -> list[Run]:
    """CERBERUS Table 3: the rows that are not in Table 2; and KD from the ensemble of the teachers (section 3.2)."""
    found, heads = [], {"mhs": {**_shape(study, study.mhs.body), "perturb": study.mhs.perturb}}
    for seed in study.grid_seeds:
        every, own = [f"teacher/{family}/seed-{seed}" for family in FAMILIES], f"teacher/{STUDENT}/seed-{seed}"
        for name, objective, by in (
            (f"kd/{STUDENT}-sum", _balance(study, "kd_sum"), every),
            (f"kd/{STUDENT}-robin", _balance(study, "kd_round_robin"), every),
            (f"kd/{STUDENT}-from-ensemble", _balance(study, "kd"), [f"ensemble/teachers/seed-{seed}"]),
            ("mhs/3h1-no-teacher", {"loss": "ce_per_head", **heads}, []),
            ("mhs/3h1-one-teacher", {**_balance(study, "per_head"), **heads}, [own] * HEADS),
        ):
            found.append(adapt(study, name, STUDENT, "base", objective, seed, "strategies", by))
    return found


def configurations(study: "Study") -> list[Run]:
    """CERBERUS Table 4: how many layers a head has; and beyond the paper, how many heads there are."""
    deeper = [layers for layers in systems.head_depths(study) if layers > 1]
    found = [
        _mhs(study, f"mhs/{HEADS}h{layers}", seed, f"mhs-{seed}", body=study.mhs.body + 1 - layers)
        for seed, layers in product(study.seeds, deeper)
    ]
    return found + [
        _mhs(study, f"mhs/{heads}h1", seed, f"mhs-{study.seeds[-1]}", heads=heads)
        for seed, heads in product(study.grid_seeds, study.mhs.heads)
        if heads != HEADS
    ]


def on_transfer(study: "Study") -> list[Run]:
    """Table 2 with the transfer set itself as the target (the paper's ASNQ columns): nothing is transferred.

    Rows 1-6 are the runs of `transfer`; nothing where that set has no dev or no test split.
    """
    if not systems.has_transfer_target(study):
        return []
    large = {family: f"transfer/{family}-large/seed-0" for family in FAMILIES}
    alike = [f"transfer/{STUDENT}-base/seed-{seed}" for seed in range(HEADS)]
    kd, heads = _balance(study, "kd"), {**_balance(study, "per_head"), "mhs": _shape(study, study.mhs.body)}

    def fit(prefix: str, family: str, group: str, objective=None, by: Iterable[str] = (), seed: int = 0) -> Run:
        training, name = study.fit.transfer, f"{prefix}/seed-{seed}"
        return from_backbone(study, name, family, "base", training, "transfer", group, seed, objective, list(by))

    alone = [fit(f"transfer/{STUDENT}-base", STUDENT, "transfer-mhs", seed=seed) for seed in range(1, HEADS)]
    taught = [
        fit(f"transfer-{_distilled(student, teacher)}", student, "transfer-students", kd, [large[teacher]])
        for student, teacher in _taught()
    ]
    several = [
        fit("transfer-mhs/3h1", STUDENT, "transfer-mhs", heads, large.values()),
        fit("transfer-hydra/3h1", STUDENT, "transfer-mhs", heads, alike),
    ]
    data = {role: parts for role, parts in roles(study.data.transfer).items() if role != "train"}
    together = [
        _ensemble(study, f"transfer-ensemble/{name}", [f"{m}/seed-0" for m in prefixes], 0, data, "transfer-students")
        for name, prefixes in _members("transfer/{}-base", "transfer-").items()
    ]
    trivial = Run("transfer-lexical/overlap_then_rank", "lexical", {"scorer": "overlap_then_rank"}, data, 0, "lexical")
    return [trivial, *alone, *taught, *several, *together]


def again(runs: list[Run], wanted: set[str], given: Longer | Second, before: str, renamed: Callable = str) -> list[Run]:
    """Some runs of a variant of the study and what these are made from, parents first, as runs of the study itself.

    given: whose precision and kernels they have.  before: of their names, which are `renamed` first.
    """
    for run in reversed(runs):
        if run.name in wanted:
            wanted = wanted.union(run.parent_names)
    computing, found = given.model_dump(include={"precision", "kernels"}), []
    for run in runs:
        if run.name in wanted:
            parents = {role: [before + renamed(name) for name in by] for role, by in run.parents.items()}
            other = {"name": before + renamed(run.name), "group": f"{before[:-1]}-{run.group}", "parents": parents}
            found.append(replace(run, **other, **computing))
    return found


def _taught() -> list[tuple[str, str]]:
    """(student, teacher) of every base model with one teacher: of its own family, and the student's of each."""
    return [(student, teacher) for teacher in FAMILIES for student in dict.fromkeys((teacher, STUDENT))]


def _members(base: str = "base/{}", before: str = "") -> dict[str, list[str]]:
    """The members of rows 10-12, as prefixes of runs."""
    return {
        "base": [base.format(family) for family in FAMILIES],
        "kd": [f"{before}kd/{family}" for family in FAMILIES],
        "distilled": [before + _distilled(STUDENT, teacher) for teacher in FAMILIES],
    }


def _distilled(student: str, teacher: str) -> str:
    return f"kd/{student}" if teacher == student else f"kd/{student}-from-{teacher}"


def _balance(study: "Study", loss: str) -> dict:
    return {"loss": loss, **study.distillation.model_dump()}


def _shape(study: "Study", body: int, heads: int = HEADS) -> dict:
    return {"body": body, "heads": heads, "combine": study.mhs.combine}


def _mhs(study: "Study", prefix: str, seed: int, group: str, body=None, heads: int = HEADS, by=None) -> Run:
    """A student with heads; head i learns from teacher i, in turn where there are more heads than teachers."""
    every = by or [f"teacher/{family}/seed-{seed}" for family in FAMILIES]
    objective = {**_balance(study, "per_head"), "mhs": _shape(study, body or study.mhs.body, heads)}
    return adapt(study, prefix, STUDENT, "base", objective, seed, group, [every[i % len(every)] for i in range(heads)])


def _ensemble(study: "Study", prefix: str, members: list[str], seed: int, data=None, group: str | None = None) -> Run:
    tuned = {"combine": "weighted", "trials": study.ensemble.trials}
    spec = {"combine": "mean"} if prefix.endswith("/teachers") else tuned
    parents, group = {"members": members}, group or f"students-{seed}"
    return Run(f"{prefix}/seed-{seed}", "ensemble", spec, data or scored(study), seed, group, parents)


def steps(study: "Study", *prefixes: str) -> str:
    """What the fits of these prefixes are given, from the fewest to the most: "145 to 522 steps", "3 epochs"."""
    trainings = [run.spec["training"] for name, run in study.plan.items() if name.startswith(prefixes)]
    for unit in ("steps", "epochs"):
        if found := {one[unit] for one in trainings if one.get(unit)}:
            return " to ".join(f"{count:,}" for count in sorted({min(found), max(found)})) + f" {unit}"
    return "no step"
