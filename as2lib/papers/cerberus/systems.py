"""The systems of CERBERUS: every row of its tables, what a person calls it, and how it is made.

A study's file names its teachers; the first is the student's own.  Seed i of a student has teachers of seed i.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

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
from as2lib.study import results
from as2lib.study.run import Notebook, Run, System

if TYPE_CHECKING:
    import pandas

    from as2lib.study import Study

PAPER_DEPTH = 12  # layers of ELECTRA-BASE
HEAD_DEPTHS = (1, 2, 4, 6)  # Table 4: the layers of a head, of those 12
PAPER_HEADS = 3
PAPER_TEACHERS = ("albert", "roberta", "electra")  # in the order of Table 2; the last is the student's own
OF_ALL_KINDS = ("ensemble/bases", "ensemble/taught-bases")  # rows of one encoder of each kind
LABELS = {"pointwise": "point-wise", "listwise": "list-wise", "pairwise": "pair-wise"}  # of what a teacher optimises


class Roles(NamedTuple):
    """The systems of the headline comparisons by what they are in any study: the names of their runs."""

    mhs: str
    base: str  # the untaught base
    student: str  # of the student's own teacher
    last_student: str  # of the last teacher
    hydra: str
    ensemble: str  # of the students of one teacher each
    teacher: str  # the student's own
    one_kind: str  # heads of one kind: every head has a teacher of the student's own kind, of other seeds


def roles(study: "Study") -> Roles:
    own_teacher, last, heads = study.own_teacher, study.last_teacher, len(study.teachers)
    return Roles(
        mhs=f"mhs/{heads}h1",
        base=f"base/{own_teacher}",
        student=f"student/{own_teacher}",
        last_student=f"student/{last}",
        hydra=f"hydra/{heads}h1",
        ensemble="ensemble/students",
        teacher=f"teacher/{own_teacher}",
        one_kind=f"mhs/{number(heads)}-{own_teacher}",
    )


# The comparisons named before their fits: permutation tests, Holm over them.  By the fields of `Roles`.
HEADLINE = (
    ("mhs", "base"),
    ("mhs", "student"),
    ("mhs", "last_student"),
    ("mhs", "hydra"),
    ("mhs", "ensemble"),
    ("mhs", "teacher"),
    ("last_student", "base"),
    ("mhs", "one_kind"),
)


def headline(study: "Study") -> list[tuple[str, str]]:
    """The pairs of `HEADLINE` of which the study runs both systems, each once."""
    of = roles(study)
    pairs = [(getattr(of, a), getattr(of, b)) for a, b in HEADLINE]
    return run_here(study, dict.fromkeys(pairs))


def number(count: int) -> str:
    """A small number in words, as names and labels have it."""
    return {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}.get(count, str(count))


def systems(study: "Study") -> list[System]:
    """Every system of this paper, each once, in the order of the paper's tables."""
    rows = [*trivial(study), *table2(study), *table3(study), *kinds(study)]
    rows += [*table4(study), *number_of_heads(study), *direct(study)]
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
            (*trivial(study), *table2(study), *table3(study), *kinds(study), *own.systems(study)),
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
    """Rows 1-3: the large models, adapted to the target set.  They teach; the last row is the student's own."""
    rows = []
    for name in reversed(study.teachers):
        label = f"{study.teachers[name].label} teacher"
        rows.append(row(study, f"teacher/{name}", label, "teacher", partial(teacher, study, name)))
    return rows


def untaught(study: "Study") -> list[System]:
    """Rows 4-6: the base models, each adapted by its kind's objective without a teacher; the last is the student's."""
    rows = []
    for name in reversed(study.teachers):
        label = "untaught base" if name == study.own_teacher else f"untaught base ({study.teachers[name].label})"
        rows.append(row(study, f"base/{name}", label, "untaught", partial(base, study, name)))
    return rows


def students(study: "Study") -> list[System]:
    """Rows 7-14: students of one teacher, the ensembles, Hydra, and MHS, which is the last.

    Rows 7, 8 and 11 only where teachers have base models of their own: those, taught by their own teacher.
    """
    rows = []
    taught_bases = [name for name in reversed(study.teachers) if study.teachers[name].base]
    for name in taught_bases:
        label = f"{study.teachers[name].label} base, taught by its teacher"
        rows.append(row(study, f"taught-base/{name}", label, "one teacher", partial(taught_base, study, name)))
    for name in reversed(study.teachers):
        label = f"student of the {study.teachers[name].label} teacher"
        rows.append(row(study, f"student/{name}", label, "one teacher", partial(student, study, name)))
    many = number(len(study.teachers))
    ensembles = {
        "teachers": "ensemble of teachers",
        "bases": f"ensemble of {many} untaught",
        "taught-bases": f"ensemble of {many} taught bases",
        "students": f"ensemble of {many}",
    }
    if not taught_bases:
        del ensembles["taught-bases"]
    for name, label in ensembles.items():
        rows.append(row(study, f"ensemble/{name}", label, "ensemble", partial(ensemble, study, name)))
    of = roles(study)
    rows.append(row(study, of.hydra, "Hydra", "heads", partial(hydra, study)))
    rows.append(row(study, of.mhs, "MHS", "heads", partial(mhs, study, of.mhs)))
    return rows


def table3(study: "Study") -> list[System]:
    """Table 3: four uses of teachers for one model, and four for the model with heads; some are rows of Table 2.

    Last, the student of the teachers' mean (section 3.2).
    """
    of, heads = roles(study), len(study.teachers)
    noise = {"mhs": {**shape(study), "perturb": study.mhs.perturb}}  # equal heads of one loss would stay equal
    summed = distilling(study, "kd_sum"), lambda seed: every_teacher(study, seed)
    in_turn = distilling(study, "kd_round_robin"), lambda seed: every_teacher(study, seed)
    no_teacher = {"loss": "ce_per_head", **noise}, lambda seed: []
    one_teacher = (
        {**distilling(study, "per_head"), **noise},
        lambda seed: [teacher(study, study.own_teacher, seed)] * heads,
    )
    from_ensemble = distilling(study, "kd"), lambda seed: [ensemble(study, "teachers", seed)]
    strategies = {
        "student/sum": ("student of all teachers, summed", "one model", summed),
        "student/robin": ("student of all teachers, in turn", "one model", in_turn),
        f"{of.mhs}-no-teacher": ("MHS without a teacher", "heads", no_teacher),
        f"{of.mhs}-one-teacher": (f"MHS, one {study.teachers[study.own_teacher].label} teacher", "heads", one_teacher),
        "student/from-ensemble": ("student of the ensemble of teachers", "one model", from_ensemble),
    }
    rows = {system.run: system for system in table2(study)}
    seeds = study.grid_seeds
    for run, (label, group, recipe) in strategies.items():
        make = partial(taught, study, run, *recipe, "strategies", first=seeds[0])
        rows[run] = row(study, run, label, group, make, seeds)
    names = [of.base, of.student, "student/sum", "student/robin", f"{of.mhs}-no-teacher", f"{of.mhs}-one-teacher"]
    return [rows[run] for run in (*names, of.hydra, of.mhs, "student/from-ensemble")]


def kinds(study: "Study") -> list[System]:
    """Beyond the paper, kind, number and heads apart: as many teachers as heads of one kind, and one for all heads.

    Of the student's own kind and of the last one; the paper's Table 3 has one teacher of the student's own kind.
    Rows of several seeds' teachers only where the study has as many seeds as heads.
    """
    heads, rows = len(study.teachers), []
    names = dict.fromkeys([study.own_teacher, study.last_teacher])
    for name in names if len(study.seeds) >= heads else ():
        run, label = f"mhs/{number(heads)}-{name}", f"MHS, {number(heads)} {study.teachers[name].label} teachers"
        objective = {**distilling(study, "per_head"), "mhs": shape(study)}
        make = partial(
            taught, study, run, objective, partial(of_seeds, study, name), "strategies", first=study.seeds[0]
        )
        seeds = study.seeds if name == study.own_teacher else study.grid_seeds
        rows.append(row(study, run, label, "heads", make, seeds))
    if len(names) > 1:
        last = study.last_teacher
        run, label = f"mhs/one-{last}", f"MHS, one {study.teachers[last].label} teacher"
        objective = {**distilling(study, "per_head"), "mhs": {**shape(study), "perturb": study.mhs.perturb}}

        def one(seed: int) -> list[Run]:
            return [teacher(study, last, seed)] * heads

        make = partial(taught, study, run, objective, one, "strategies", first=study.grid_seeds[0])
        rows.append(row(study, run, label, "heads", make, study.grid_seeds))
    return rows


def of_seeds(study: "Study", name: str, seed: int) -> list[Run]:
    """As many teachers of one kind as heads, of other seeds: the seed's own first, then the next ones, in turn."""
    seeds = study.seeds
    first = seeds.index(seed)
    return [teacher(study, name, seeds[(first + i) % len(seeds)]) for i in range(len(study.teachers))]


def table4(study: "Study") -> list[System]:
    """Table 4: heads of more layers, on a body of the others; the leanest, MHS itself, first."""
    rows = [students(study)[-1]]
    for layers in (layers for layers in head_depths(study) if layers > 1):
        run = f"mhs/{len(study.teachers)}h{layers}"
        rows.append(row(study, run, f"MHS, heads of {layers} layers", "heads", partial(mhs, study, run, layers=layers)))
    return rows


def number_of_heads(study: "Study") -> list[System]:
    """Beyond the paper: other numbers of heads, each of one layer, that learn from the teachers in turn."""
    rows = []
    for heads in sorted({*study.mhs.heads} - {len(study.teachers)}):
        run, label = f"mhs/{heads}h1", f"MHS, {heads} head{'s' * (heads > 1)}"
        rows.append(row(study, run, label, "heads", partial(mhs, study, run, heads=heads), study.grid_seeds))
    return rows


def direct(study: "Study") -> list[System]:
    """Rows 1-6 without the transfer step: what it adds is measured against these; none where there is none."""
    if study.fit.direct is None:
        return []
    rows = []
    for system in (*teachers(study), *untaught(study)):
        run, label = f"direct/{system.run}", f"{system.label}, no transfer"
        make = partial(without_transfer, study, system.run)
        rows.append(row(study, run, label, "no transfer", make, study.grid_seeds))
    return rows


def head_depths(study: "Study") -> list[int]:
    """The layers of a head in this study's configurations: the paper's, scaled, and those of `mhs.bodies`."""
    depth = study.mhs.body + 1
    return sorted({scaled(layers, depth) for layers in HEAD_DEPTHS} | {depth - body for body in study.mhs.bodies})


def stands_for(study: "Study") -> dict[str, str]:
    """This study's configurations of Table 4 → the paper's; the leanest where several of those fall on one."""
    depth, heads = study.mhs.body + 1, len(study.teachers)
    return {f"mhs/{heads}h{scaled(layers, depth)}": f"mhs/{PAPER_HEADS}h{layers}" for layers in reversed(HEAD_DEPTHS)}


def ours(study: "Study", run: str) -> str:
    """What stands in a study beside a row of the paper, whose teachers are named albert, roberta and electra.

    run: a name in `published/*.csv`, `student/albert`.  Returns "" where none of our teachers stands for the paper's.
    """
    names = {teacher.stands_for: name for name, teacher in study.teachers.items() if teacher.stands_for}
    if run in OF_ALL_KINDS:
        return run if set(PAPER_TEACHERS) <= set(names) else ""
    role, _, place = run.rpartition("/")
    return f"{role}/{names[place]}" if place in names else "" if place in PAPER_TEACHERS else run


def published(study: "Study", table: str) -> "pandas.DataFrame":
    """One of the paper's tables, as `results.published`, under our names: the rows beside which one of ours stands."""
    paper = results.published("cerberus", table)
    paper.index = [ours(study, run) for run in paper.index]
    return paper[paper.index != ""].rename_axis("run")


def scaled(layers: int, depth: int) -> int:
    """A head of so many of the paper's 12 layers, in a model of `depth` layers."""
    return max(1, round(layers * depth / PAPER_DEPTH))


# ---------------------------------------------------------------- how each is made


def teacher(study: "Study", name: str, seed: int) -> Run:
    return adapted_alone(study, f"teacher/{name}", name, f"teacher/{name}", seed)


def base(study: "Study", name: str, seed: int) -> Run:
    """The base model of a teacher's kind, trained by that teacher's objective."""
    return adapted_alone(study, f"base/{name}", name, study.base_of(name), seed)


def adapted_alone(study: "Study", system: str, name: str, encoder: str, seed: int) -> Run:
    """An encoder after both steps, of transfer and of adaptation by a teacher's objective, with no teacher."""
    objective = adapting(study.teachers[name])

    def make(seed: int) -> Run:
        return adapted(study, system, encoder, objective, seed, "teachers")

    return with_search(study, system, make, seed, study.seeds[0])


def without_transfer(study: "Study", run: str, seed: int) -> Run:
    """What stands for a teacher's run or an untaught base's, adapted to the target set alone."""
    role, name = run.split("/")
    encoder = run if role == "teacher" else study.base_of(name)
    system, training = f"direct/{run}", study.fit.direct

    def make(seed: int) -> Run:
        return from_encoder(study, f"{system}/seed-{seed}", encoder, training, "target", "direct", seed)

    return with_search(study, system, make, seed, study.grid_seeds[0])


def student(study: "Study", by: str, seed: int) -> Run:
    """The study's student after the transfer step, which learns from one teacher."""
    return of_one_teacher(study, f"student/{by}", by, "student", seed)


def taught_base(study: "Study", by: str, seed: int) -> Run:
    """A teacher's own base model, which learns from it."""
    return of_one_teacher(study, f"taught-base/{by}", by, f"base/{by}", seed)


def of_one_teacher(study: "Study", system: str, by: str, encoder: str, seed: int) -> Run:
    def teachers_of(seed: int) -> list[Run]:
        return [teacher(study, by, seed)]

    return taught(study, system, distilling(study, "kd"), teachers_of, "students", seed, study.seeds[0], encoder)


def every_teacher(study: "Study", seed: int) -> list[Run]:
    """The teachers in the file's order, one a head."""
    return [teacher(study, name, seed) for name in study.teachers]


def taught(
    study: "Study",
    system: str,
    objective: dict[str, Any],
    teachers_of: Callable[[int], Sequence[Run]],
    group: str,
    seed: int,
    first: int,
    encoder: str = "student",
) -> Run:
    """A student for which distillation takes the place of the adapt step.

    teachers_of: seed → the runs that teach it.  first: of the seeds, for the search of its settings.
    """

    def make(seed: int) -> Run:
        return adapted(study, system, encoder, objective, seed, group, teachers_of(seed))

    return with_search(study, system, make, seed, first)


def shape(study: "Study", layers: int = 1, heads: int | None = None) -> dict[str, Any]:
    """Of a model with heads, one a teacher unless said: each has so many of its layers, the body has the others."""
    return {"body": study.mhs.body + 1 - layers, "heads": heads or len(study.teachers), "combine": study.mhs.combine}


def mhs(study: "Study", system: str, seed: int, layers: int = 1, heads: int | None = None) -> Run:
    """The multiple-heads student: head i learns from teacher i, in turn where there are more heads than teachers.

    Heads of one teacher start with a little noise between them.
    """
    heads = heads or len(study.teachers)

    def teachers_of(seed: int) -> list[Run]:
        every = every_teacher(study, seed)
        return [every[i % len(every)] for i in range(heads)]

    noise = {"perturb": study.mhs.perturb} if heads > len(study.teachers) else {}
    objective = {**distilling(study, "per_head"), "mhs": {**shape(study, layers, heads), **noise}}
    return taught(study, system, objective, teachers_of, "students", seed, study.seeds[0])


def hydra(study: "Study", seed: int) -> Run:
    """Row 13: the model with heads, taught by untaught base models of its own kind that differ by seed.

    Those are of row 6 and, where the study has fewer seeds than heads, more of them.
    """
    heads, own_teacher = len(study.teachers), study.own_teacher
    objective = {**distilling(study, "per_head"), "mhs": shape(study)}
    further = range(max(study.seeds) + 1, max(study.seeds) + heads)
    alike = []
    for teacher_seed in [*study.seeds, *further][:heads]:
        system = f"base/{own_teacher}" if teacher_seed in study.seeds else f"hydra-teacher/{own_teacher}"
        alike.append(adapted_alone(study, system, own_teacher, "student", teacher_seed))
    return taught(study, roles(study).hydra, objective, lambda _: alike, "students", seed, study.seeds[0])


def ensemble(study: "Study", name: str, seed: int) -> Run:
    """Rows 10-12, whose weights are tuned on dev; and the plain mean of the teachers."""
    if name == "teachers":
        return combined(study, "ensemble/teachers", every_teacher(study, seed), seed, "teachers", {"combine": "mean"})
    make = {"bases": base, "students": student, "taught-bases": taught_or_student}[name]
    members = [make(study, teacher, seed) for teacher in study.teachers]
    return combined(study, f"ensemble/{name}", members, seed, "students")


def taught_or_student(study: "Study", by: str, seed: int) -> Run:
    """A teacher's own base model, or else the student, which learns from it."""
    return taught_base(study, by, seed) if study.teachers[by].base else student(study, by, seed)
