"""The runs of the CERBERUS paper, one function a part of a table, and the trivial rankers that every table shows."""

import csv
from importlib.resources import files
from typing import TYPE_CHECKING

from as2lib.papers.cerberus.systems import HEADS, ROLES, STUDENT, has_transfer_target, head_depths
from as2lib.runs.params import FAMILIES, SIZES
from as2lib.runs.run import Notebook, Run, adapt, from_backbone, names, roles, scored
from as2lib.runs.search import searched

if TYPE_CHECKING:
    from as2lib.study import Study


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children."""
    first = [*lexical(study), *transfer(study), *teachers(study), *direct(study)]
    made = [*first, *students(study), *ensembles(study), *strategies(study), *configurations(study)]
    return searched(study, [*made, *on_transfer(study)])


def notebooks(study: "Study") -> list[Notebook]:
    """Notebooks 01 to 07, each with the names of the runs it reads."""
    trivial, transferred = names(lexical(study)), names(transfer(study))
    taught, alone, distilled = names(teachers(study)), names(direct(study)), names(students(study))
    ensembled = names(ensembles(study))
    several = [*distilled, *ensembled, *names(strategies(study)), *names(on_transfer(study))]
    shapes = {"base/electra", "mhs/3h1", *map(_prefix, configurations(study))}
    latency = Notebook("05_latency", "What does each model cost to run?", "CERBERUS Table 5", [], timed=True)
    return [
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
            "CERBERUS Table 2, rows 7–14, and Table 3",
            [*trivial, *transferred, *taught, *several],
        ),
        Notebook(
            "04_mhs_configs",
            "How many layers should a head have?",
            "CERBERUS Table 4",
            [*trivial, *of_prefixes(study, shapes)],
            timed=study.latency is not None,
        ),
        *([latency] if study.latency else []),
        Notebook(
            "06_head_teacher_agreement",
            "Do heads resemble their teachers?",
            "CERBERUS Figure 3 and its majority analysis",
            [*trivial, *taught, *of_prefixes(study, {"base/electra", "mhs/3h1"})],
        ),
        Notebook(
            "07_significance",
            "Which differences are real, and which models are equal?",
            "the tests named in CERBERUS Table 2",
            [*trivial, *of_prefixes(study, claimed(study))],
        ),
    ]


def claimed(study: "Study") -> set[str]:
    """The prefixes of the runs of every pair of systems that the paper compares, where both are planned."""
    prefixes = {_prefix(run) for run in runs(study)}
    with files("as2lib.papers.cerberus").joinpath("published", "claims.csv").open(encoding="utf-8") as file:
        pairs = [{row["a"], row["b"]} for row in csv.DictReader(file)]
    return {prefix for pair in pairs if pair <= prefixes for prefix in pair}


def of_prefixes(study: "Study", prefixes: set[str]) -> list[str]:
    """The names of the planned runs below these prefixes, in the plan's order."""
    return [run.name for run in runs(study) if _prefix(run) in prefixes]


def _prefix(run: Run) -> str:
    return run.name.rsplit("/seed-", 1)[0]


def lexical(study: "Study") -> list[Run]:
    """The trivial rankers that every table shows (Cosinet, section 2.1): nothing is trained."""
    scorers = ("reciprocal_rank", "word_overlap", "overlap_then_rank")
    return [Run(f"lexical/{scorer}", "lexical", {"scorer": scorer}, scored(study), 0, "lexical") for scorer in scorers]


def transfer(study: "Study") -> list[Run]:
    """The first step of transfer-then-adapt (TANDA): each encoder fine-tuned on the transfer set, once."""
    return [
        from_backbone(
            study,
            f"transfer/{family}-{size}/seed-0",
            family,
            size,
            study.fit.transfer,
            "transfer",
            f"{family}-{size}",
        )
        for family in FAMILIES
        for size in SIZES
    ]


def teachers(study: "Study") -> list[Run]:
    """CERBERUS Table 2, rows 1-6: the large teachers and the base models, adapted to the target set."""
    runs = []
    for family in FAMILIES:
        for size, role in ROLES.items():
            for seed in study.seeds:
                group = f"{family}-{size}"
                runs.append(adapt(study, f"{role}/{family}", family, size, {"loss": "ce"}, seed, group))
    return runs


def direct(study: "Study") -> list[Run]:
    """Rows 1-6 without the transfer step: what the transfer adds is measured against these."""
    return [
        from_backbone(
            study, f"direct/{family}-{size}/seed-{seed}", family, size, study.fit.direct, "target", "direct", seed
        )
        for family in FAMILIES
        for size in SIZES
        for seed in study.grid_seeds
    ]


def students(study: "Study") -> list[Run]:
    """CERBERUS Table 2, rows 7-9, the members of row 12, and rows 13 and 14.

    Each starts from its base model after the transfer step; distillation takes the place of the adapt step.
    """
    kd, runs = _balance(study, "kd"), []
    for seed in study.seeds:
        for teacher in FAMILIES:
            for student in dict.fromkeys((teacher, STUDENT)):
                name = _distilled(student, teacher)
                by = [f"teacher/{teacher}/seed-{seed}"]
                runs.append(adapt(study, name, student, "base", kd, seed, f"students-{seed}", by))
        runs.append(_mhs(study, "mhs/3h1", seed, f"mhs-{seed}"))
    hydra = hydra_teachers(study)
    runs += [run for run in hydra if run.name.startswith("hydra-teacher/")]
    for seed in study.seeds:
        runs.append(_mhs(study, "hydra/3h1", seed, f"mhs-{seed}", teachers=names(hydra)))
    return runs


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
    members = {
        "base": [f"base/{family}" for family in FAMILIES],
        "kd": [f"kd/{family}" for family in FAMILIES],
        "distilled": [_distilled(STUDENT, teacher) for teacher in FAMILIES],
        "teachers": [f"teacher/{family}" for family in FAMILIES],
    }
    return [
        _ensemble(study, f"ensemble/{name}", [f"{prefix}/seed-{seed}" for prefix in prefixes], seed)
        for name, prefixes in members.items()
        for seed in study.seeds
    ]


def strategies(study: "Study") -> list[Run]:
    """CERBERUS Table 3: the rows that are not in Table 2; and KD from the ensemble of the teachers (section 3.2)."""
    runs = []
    for seed in study.grid_seeds:
        every = [f"teacher/{family}/seed-{seed}" for family in FAMILIES]
        for name, loss, teachers in (
            ("sum", "kd_sum", every),
            ("robin", "kd_round_robin", every),
            ("from-ensemble", "kd", [f"ensemble/teachers/seed-{seed}"]),
        ):
            balance = _balance(study, loss)
            runs.append(adapt(study, f"kd/{STUDENT}-{name}", STUDENT, "base", balance, seed, "strategies", teachers))
        alone = {"loss": "ce_per_head"}, []
        one = _balance(study, "per_head"), [f"teacher/{STUDENT}/seed-{seed}"] * HEADS
        for name, (objective, teachers) in {"no-teacher": alone, "one-teacher": one}.items():
            shape = {**_shape(study, study.mhs.body), "perturb": study.mhs.perturb}
            runs.append(
                adapt(
                    study,
                    f"mhs/3h1-{name}",
                    STUDENT,
                    "base",
                    {**objective, "mhs": shape},
                    seed,
                    "strategies",
                    teachers,
                )
            )
    return runs


def configurations(study: "Study") -> list[Run]:
    """CERBERUS Table 4: how many layers a head has; and beyond the paper, how many heads there are."""
    runs = [
        _mhs(study, f"mhs/{HEADS}h{layers}", seed, f"mhs-{seed}", body=study.mhs.body + 1 - layers)
        for seed in study.seeds
        for layers in head_depths(study)
        if layers > 1
    ]
    runs += [
        _mhs(study, f"mhs/{heads}h1", seed, f"mhs-{study.seeds[-1]}", heads=heads)
        for seed in study.grid_seeds
        for heads in study.mhs.heads
        if heads != HEADS
    ]
    return runs


def on_transfer(study: "Study") -> list[Run]:
    """Table 2 with the transfer set itself as the target (the paper's ASNQ columns): nothing is transferred.

    Rows 1-6 are the runs of `transfer`; nothing where that set has no dev or no test split.
    """
    if not has_transfer_target(study):
        return []
    kd = _balance(study, "kd")
    teacher = {family: f"transfer/{family}-large/seed-0" for family in FAMILIES}

    def fit(name: str, family: str, group: str, objective=None, teachers=(), seed: int = 0) -> Run:
        training, name = study.fit.transfer, f"{name}/seed-{seed}"
        return from_backbone(study, name, family, "base", training, "transfer", group, seed, objective, list(teachers))

    alone = [fit(f"transfer/{STUDENT}-base", STUDENT, "transfer-mhs", seed=seed) for seed in range(1, HEADS)]
    taught = [
        fit(f"transfer-{_distilled(student, family)}", student, "transfer-students", kd, [teacher[family]])
        for family in FAMILIES
        for student in dict.fromkeys((family, STUDENT))
    ]
    per_head = {**_balance(study, "per_head"), "mhs": _shape(study, study.mhs.body)}
    several = [f"transfer/{STUDENT}-base/seed-{seed}" for seed in range(HEADS)]
    heads = [
        fit("transfer-mhs/3h1", STUDENT, "transfer-mhs", per_head, teacher.values()),
        fit("transfer-hydra/3h1", STUDENT, "transfer-mhs", per_head, several),
    ]
    members = {
        "base": [f"transfer/{family}-base" for family in FAMILIES],
        "kd": [f"transfer-kd/{family}" for family in FAMILIES],
        "distilled": [f"transfer-{_distilled(STUDENT, family)}" for family in FAMILIES],
    }
    data = {role: parts for role, parts in roles(study.data.transfer).items() if role != "train"}
    together = [
        _ensemble(study, f"transfer-ensemble/{name}", [f"{m}/seed-0" for m in prefixes], 0, data, "transfer-students")
        for name, prefixes in members.items()
    ]
    trivial = Run("transfer-lexical/overlap_then_rank", "lexical", {"scorer": "overlap_then_rank"}, data, 0, "lexical")
    return [trivial, *alone, *taught, *heads, *together]


def _distilled(student: str, teacher: str) -> str:
    return f"kd/{student}" if teacher == student else f"kd/{student}-from-{teacher}"


def _balance(study: "Study", loss: str) -> dict:
    return {"loss": loss, **study.distillation.model_dump()}


def _shape(study: "Study", body: int, heads: int = HEADS) -> dict:
    return {"body": body, "heads": heads, "combine": study.mhs.combine}


def _mhs(
    study: "Study",
    name: str,
    seed: int,
    group: str,
    body: int | None = None,
    heads: int = HEADS,
    teachers: list[str] | None = None,
) -> Run:
    """A student with heads; head i learns from teacher i, in turn where there are more heads than teachers."""
    every = teachers or [f"teacher/{family}/seed-{seed}" for family in FAMILIES]
    by = [every[i % len(every)] for i in range(heads)]
    objective = {**_balance(study, "per_head"), "mhs": _shape(study, body or study.mhs.body, heads)}
    return adapt(study, name, STUDENT, "base", objective, seed, group, by)


def _ensemble(study: "Study", prefix: str, members: list[str], seed: int, data=None, group: str | None = None) -> Run:
    tuned = {"combine": "weighted", "trials": study.ensemble.trials}
    spec = {"combine": "mean"} if prefix.endswith("/teachers") else tuned
    parents, group = {"members": members}, group or f"students-{seed}"
    return Run(f"{prefix}/seed-{seed}", "ensemble", spec, data or scored(study), seed, group, parents)
