"""The systems of CERBERUS: every row of its tables, what a person calls it, and how it is made.

A family ("electra", "roberta", "albert") is a teacher's place in the paper's tables; a study's file says which encoder
stands there.  Seed i of a student learns from seed i of its teachers.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from as2lib.papers import own
from as2lib.papers.building import (
    adapted,
    adapting,
    best_trivial,
    combined,
    distilling,
    from_encoder,
    lexical,
    with_search,
)
from as2lib.study.params import FAMILIES, SIZES
from as2lib.study.run import Notebook, Run, System

if TYPE_CHECKING:
    from as2lib.study import Study

STUDENT = FAMILIES[0]  # every distilled row but 7 and 8 starts from its base model
HEADS = len(FAMILIES)  # one for each teacher
PAPER_DEPTH = 12  # layers of ELECTRA-BASE
HEAD_DEPTHS = (1, 2, 4, 6)  # Table 4: the layers of a head, of those 12
# Named in advance: permutation tests, Holm over the six.  The last rival of MHS is the large model of the student's own
# family, the paper's best on IAS2 and ASNQ.
HEADLINE = (
    ("mhs/3h1", "base/electra"),
    ("mhs/3h1", "kd/electra"),
    ("mhs/3h1", "hydra/3h1"),
    ("mhs/3h1", "ensemble/distilled"),
    ("mhs/3h1", "teacher/electra"),
    ("kd/electra", "base/electra"),
)


def systems(study: "Study") -> list[System]:
    """Every system of this paper, each once, in the order of the paper's tables."""
    rows = [*trivial(study), *table2(study), *table3(study), *table4(study), *number_of_heads(study), *direct(study)]
    return list({row.run: row for row in rows}.values())


def notebooks(study: "Study") -> list[Notebook]:
    """Notebooks 01 to 07, each with the systems that it reads."""
    models = [*trivial(study), *teachers(study), *untaught(study)]
    timed = study.latency is not None
    latency = Notebook("05_latency", "What does each model cost to run?", "CERBERUS Table 5", timed=True)
    return [
        Notebook(
            "01_data",
            "What do the data look like, do the splits leak, and how far do trivial rankers get?",
            "CERBERUS Table 1, Cosinet Table 2, Cascade Transformer Table 1",
            tuple(trivial(study)),
        ),
        Notebook(
            "02_teachers",
            "How good are the teachers, and what does transfer-then-adapt add?",
            "CERBERUS Table 2, rows 1–6",
            (*models, *direct(study)),
        ),
        Notebook(
            "03_distillation",
            "Does one model with k heads match the ensemble?",
            "CERBERUS Table 2, rows 7–14, and Table 3",
            (*trivial(study), *table2(study), *table3(study), *own.systems(study)),
        ),
        Notebook(
            "04_mhs_configs",
            "How many layers should a head have?",
            "CERBERUS Table 4",
            (*trivial(study), *untaught(study)[-1:], *table4(study), *number_of_heads(study)),
            timed=timed,
        ),
        *([latency] if timed else []),
        Notebook(
            "06_head_teacher_agreement",
            "Do heads resemble their teachers?",
            "CERBERUS Figure 3 and its majority-vote analysis",
            (*models, *students(study)[-1:]),
        ),
        Notebook(
            "07_significance",
            "Which differences are real?",
            "the tests named in CERBERUS Table 2",
            tuple(systems(study)),
        ),
    ]


def run_here(study: "Study", pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of which the study runs both systems."""
    return [pair for pair in pairs if all(name in study.systems and study.systems[name].seeds for name in pair)]


# ---------------------------------------------------------------- the paper's tables, row by row


def row(
    study: "Study", run: str, label: str, group: str, make: Callable[[int], Run], seeds: Sequence[int] = ()
) -> System:
    """A system with the seeds that the study's `rows` gives it, `[]` where it is not run; default: the study's own."""
    return System(run, label, group, make, tuple(study.rows.get(run, seeds or study.seeds)))


def trivial(study: "Study") -> list[System]:
    """What every table shows as a baseline: rankers that learn nothing (Cosinet, section 2.1), the best one last.

    Those that read the order of the candidates are left out where it means nothing.
    """
    labels = {
        "reciprocal_rank": "original order (RR)",
        "word_overlap": "word overlap (WO)",
        "overlap_then_rank": "word overlap, then order (WO+RR)",
    }
    if best_trivial(study.data.target) == "word_overlap":
        labels = {"word_overlap": labels["word_overlap"]}
    return [
        row(study, f"lexical/{scorer}", label, "trivial", lambda seed, scorer=scorer: lexical(study, scorer), [0])
        for scorer, label in labels.items()
    ]


def table2(study: "Study") -> list[System]:
    """Rows 1 to 14; before the ensembles the members of row 12 and, beyond the paper, the mean of the teachers."""
    return [*teachers(study), *untaught(study), *students(study)]


def teachers(study: "Study") -> list[System]:
    """Rows 1-3: the large models, adapted to the target set.  They teach."""
    rows = []
    for family in reversed(FAMILIES):
        name = study.backbones[family].name
        label = f"own large teacher ({name})" if family == STUDENT else f"{name} teacher"
        rows.append(row(study, f"teacher/{family}", label, "teacher", partial(teacher, study, family)))
    return rows


def untaught(study: "Study") -> list[System]:
    """Rows 4-6: the base models, adapted without a teacher."""
    rows = []
    for family in reversed(FAMILIES):
        label = "untaught base" if family == STUDENT else f"untaught base ({study.backbones[family].name})"
        rows.append(row(study, f"base/{family}", label, "untaught", partial(base, study, family)))
    return rows


def students(study: "Study") -> list[System]:
    """Rows 7-14: one teacher, the members of row 12, the ensembles, Hydra, and MHS, which is the last.

    Where the families' base models are one, rows 7 and 8 are members of row 12, and row 11 is row 12.
    """
    rows = []
    for family in reversed(FAMILIES):
        name = study.backbones[family].name
        label = f"one teacher: {name}" if same_base(study, family) else f"one teacher ({name})"
        label = "one teacher" if family == STUDENT else label
        rows.append(row(study, f"kd/{family}", label, "one teacher", partial(student, study, family, family)))
    others = [family for family in FAMILIES if not same_base(study, family)]
    for family in others:
        run, label = f"kd/{STUDENT}-from-{family}", f"taught by {study.backbones[family].name}"
        rows.append(row(study, run, label, "one teacher", partial(student, study, STUDENT, family)))
    ensembles = {
        "teachers": "ensemble of teachers",
        "base": "ensemble of three untaught",
        "kd": "ensemble of three families",
        "distilled": "ensemble of three",
    }
    if not others:
        del ensembles["kd"]
    for name, label in ensembles.items():
        rows.append(row(study, f"ensemble/{name}", label, "ensemble", partial(ensemble, study, name)))
    rows.append(row(study, "hydra/3h1", "Hydra", "heads", partial(hydra, study)))
    rows.append(row(study, "mhs/3h1", "MHS", "heads", partial(mhs, study, "mhs/3h1")))
    return rows


def members(study: "Study") -> list[str]:
    """The students that row 12 averages, of one base model, a teacher each."""
    return [student(study, STUDENT, family, study.seeds[0]).system for family in FAMILIES]


def table3(study: "Study") -> list[System]:
    """Table 3: four uses of teachers for one model, and four for the model with heads; some are rows of Table 2.

    Last, the student of the teachers' mean (section 3.2).
    """
    heads = {"mhs": {**shape(study), "perturb": study.mhs.perturb}}  # equal heads of one loss would stay equal
    summed = distilling(study, "kd_sum"), lambda seed: three(study, seed)
    in_turn = distilling(study, "kd_round_robin"), lambda seed: three(study, seed)
    no_teacher = {"loss": "ce_per_head", **heads}, lambda seed: []
    one_teacher = {**distilling(study, "per_head"), **heads}, lambda seed: [teacher(study, STUDENT, seed)] * HEADS
    from_ensemble = distilling(study, "kd"), lambda seed: [ensemble(study, "teachers", seed)]
    strategies = {
        f"kd/{STUDENT}-sum": ("three teachers, summed", "one model", summed),
        f"kd/{STUDENT}-robin": ("three teachers, in turn", "one model", in_turn),
        "mhs/3h1-no-teacher": ("MHS without a teacher", "heads", no_teacher),
        "mhs/3h1-one-teacher": ("MHS, one teacher", "heads", one_teacher),
        f"kd/{STUDENT}-from-ensemble": ("taught by the ensemble of teachers", "one model", from_ensemble),
    }
    rows = {system.run: system for system in table2(study)}
    seeds = study.grid_seeds
    for run, (label, group, recipe) in strategies.items():
        make = partial(taught, study, run, *recipe, "strategies", first=seeds[0])
        rows[run] = row(study, run, label, group, make, seeds)
    one_model = [f"base/{STUDENT}", f"kd/{STUDENT}", f"kd/{STUDENT}-sum", f"kd/{STUDENT}-robin"]
    with_heads = ["mhs/3h1-no-teacher", "mhs/3h1-one-teacher", "hydra/3h1", "mhs/3h1"]
    return [rows[run] for run in (*one_model, *with_heads, f"kd/{STUDENT}-from-ensemble")]


def table4(study: "Study") -> list[System]:
    """Table 4: heads of more layers, on a body of the others; the leanest, MHS itself, first."""
    rows = [students(study)[-1]]
    for layers in (layers for layers in head_depths(study) if layers > 1):
        run = f"mhs/{HEADS}h{layers}"
        rows.append(row(study, run, f"MHS, heads of {layers} layers", "heads", partial(mhs, study, run, layers=layers)))
    return rows


def number_of_heads(study: "Study") -> list[System]:
    """Beyond the paper: other numbers of heads, each of one layer; head i learns from teacher i modulo three."""
    rows = []
    for heads in sorted({*study.mhs.heads} - {HEADS}):
        run, label = f"mhs/{heads}h1", f"MHS, {heads} head{'s' * (heads > 1)}"
        rows.append(row(study, run, label, "heads", partial(mhs, study, run, heads=heads), study.grid_seeds))
    return rows


def direct(study: "Study") -> list[System]:
    """Rows 1-6 without the transfer step: what it adds is measured against these; none where there is none."""
    if study.fit.direct is None:
        return []
    rows = []
    for size in SIZES:
        for family in reversed(FAMILIES):
            run, label = f"direct/{family}-{size}", f"{study.backbones[family].name} {size}, no transfer"
            make = partial(without_transfer, study, family, size)
            rows.append(row(study, run, label, "no transfer", make, study.grid_seeds))
    return rows


def same_base(study: "Study", family: str) -> bool:
    """Whether a family's students start where the student's own do: one encoder, of one training, under two names."""
    unread = {"label", "objective"}  # distillation takes the place of what it would optimise
    ours, theirs = (study.backbones[name].base.model_dump(exclude=unread) for name in (STUDENT, family))
    return ours == theirs


def head_depths(study: "Study") -> list[int]:
    """The layers of a head in this study's configurations: the paper's, scaled, and those of `mhs.bodies`."""
    depth = study.mhs.body + 1
    return sorted({scaled(layers, depth) for layers in HEAD_DEPTHS} | {depth - body for body in study.mhs.bodies})


def read_by_the_mean(study: "Study") -> str:
    """The model of one depth that differs from the untaught base in reading the mean of its tokens; "": none does."""
    base, cascade = study.backbones["electra"].base, study.cascade
    if cascade is None or cascade.fit is not None or base.pooling == "mean" or base.depth not in cascade.mean:
        return ""
    whole = getattr(study.backbones[cascade.family], cascade.size)
    return f"monolith/{base.depth}/target" if base.name is not None and whole.name == base.name else ""


def stands_for(study: "Study") -> dict[str, str]:
    """This study's configurations of Table 4 → the paper's; the leanest where several of those fall on one."""
    depth = study.mhs.body + 1
    return {f"mhs/{HEADS}h{scaled(layers, depth)}": f"mhs/{HEADS}h{layers}" for layers in reversed(HEAD_DEPTHS)}


def scaled(layers: int, depth: int) -> int:
    """A head of so many of the paper's 12 layers, in a model of `depth` layers."""
    return max(1, round(layers * depth / PAPER_DEPTH))


# ---------------------------------------------------------------- how each is made


def teacher(study: "Study", family: str, seed: int) -> Run:
    return adapted_alone(study, f"teacher/{family}", family, "large", seed)


def base(study: "Study", family: str, seed: int) -> Run:
    return adapted_alone(study, f"base/{family}", family, "base", seed)


def adapted_alone(study: "Study", system: str, family: str, size: str, seed: int) -> Run:
    """An encoder after both steps, of transfer and of adaptation, with no teacher."""
    objective = adapting(getattr(study.backbones[family], size))

    def make(seed: int) -> Run:
        return adapted(study, system, family, size, objective, seed, "teachers")

    return with_search(study, system, make, seed, study.seeds[0])


def without_transfer(study: "Study", family: str, size: str, seed: int) -> Run:
    """An encoder adapted to the target set alone."""
    system, training = f"direct/{family}-{size}", study.fit.direct

    def make(seed: int) -> Run:
        return from_encoder(study, f"{system}/seed-{seed}", family, size, training, "target", "direct", seed)

    return with_search(study, system, make, seed, study.grid_seeds[0])


def student(study: "Study", family: str, by: str, seed: int) -> Run:
    """A base model after the transfer step that learns from one teacher, its own family's or another's."""
    if same_base(study, by):  # then this is the student of that family
        family = by
    system = f"kd/{family}" if by == family else f"kd/{family}-from-{by}"

    def teachers_of(seed: int) -> list[Run]:
        return [teacher(study, by, seed)]

    return taught(study, system, distilling(study, "kd"), teachers_of, "students", seed, study.seeds[0], family)


def three(study: "Study", seed: int) -> list[Run]:
    """The three teachers, one a head."""
    return [teacher(study, family, seed) for family in FAMILIES]


def taught(
    study: "Study",
    system: str,
    objective: dict[str, Any],
    teachers_of: Callable[[int], Sequence[Run]],
    group: str,
    seed: int,
    first: int,
    family: str = STUDENT,
) -> Run:
    """A base model for which distillation takes the place of the adapt step.

    teachers_of: seed → the runs that teach it.  first: of the seeds, for the search of its settings.
    """

    def make(seed: int) -> Run:
        return adapted(study, system, family, "base", objective, seed, group, teachers_of(seed))

    return with_search(study, system, make, seed, first)


def shape(study: "Study", layers: int = 1, heads: int = HEADS) -> dict[str, Any]:
    """Of a model with heads: each has so many of its layers, the body has the others."""
    return {"body": study.mhs.body + 1 - layers, "heads": heads, "combine": study.mhs.combine}


def mhs(study: "Study", system: str, seed: int, layers: int = 1, heads: int = HEADS) -> Run:
    """The multiple-heads student: head i learns from teacher i, in turn where there are more heads than teachers.

    Heads of one teacher start with a little noise between them.
    """

    def teachers_of(seed: int) -> list[Run]:
        every = three(study, seed)
        return [every[i % len(every)] for i in range(heads)]

    noise = {"perturb": study.mhs.perturb} if heads > HEADS else {}
    objective = {**distilling(study, "per_head"), "mhs": {**shape(study, layers, heads), **noise}}
    return taught(study, system, objective, teachers_of, "students", seed, study.seeds[0])


def hydra(study: "Study", seed: int) -> Run:
    """Row 13: the model with heads, taught by untaught base models of its own family that differ by seed.

    Those are of row 6 and, where the study has fewer seeds than heads, more of them.
    """
    objective = {**distilling(study, "per_head"), "mhs": shape(study)}
    further = range(max(study.seeds) + 1, max(study.seeds) + HEADS)
    alike = []
    for teacher_seed in [*study.seeds, *further][:HEADS]:
        system = f"base/{STUDENT}" if teacher_seed in study.seeds else f"hydra-teacher/{STUDENT}"
        alike.append(adapted_alone(study, system, STUDENT, "base", teacher_seed))
    return taught(study, "hydra/3h1", objective, lambda _: alike, "students", seed, study.seeds[0])


def ensemble(study: "Study", name: str, seed: int) -> Run:
    """Rows 10-12, whose weights are tuned on dev; and the plain mean of the three teachers."""
    if name == "teachers":
        return combined(study, "ensemble/teachers", three(study, seed), seed, "teachers", {"combine": "mean"})
    members = {
        "base": [base(study, family, seed) for family in FAMILIES],
        "kd": [student(study, family, family, seed) for family in FAMILIES],
        "distilled": [student(study, STUDENT, family, seed) for family in FAMILIES],
    }
    return combined(study, f"ensemble/{name}", members[name], seed, "students")
