"""The systems of CERBERUS: every row of its tables, what a person calls it, and how it is made.

A study's file names its teachers; the first is the student's own.  Seed i of a student has teachers of seed i.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from as2lib.fit import objectives
from as2lib.papers import row, taken
from as2lib.papers.row import ensemble, fit, objective, planned, with_heads
from as2lib.study import Study
from as2lib.study.run import Notebook, Row, by_name

PAPER_DEPTH = 12  # layers of ELECTRA-BASE
HEAD_DEPTHS = (1, 2, 4, 6)  # Table 4: the layers of a head, of those 12
PAPER_HEADS = 3
PAPER_TEACHERS = ("albert", "roberta", "electra")  # in the order of Table 2; the last is the student's own
OF_ALL_KINDS = ("ensemble/bases", "ensemble/taught-bases")  # rows of one encoder of each kind
PER_HEAD = {"start": "student", "loss": "per_head"}  # head i learns from teacher i


def roles(study: Study) -> SimpleNamespace:
    """The systems of the headline comparisons by what they are in any study: the names of their runs."""
    own_teacher, heads = study.own_teacher, len(study.teachers)
    return SimpleNamespace(
        mhs=f"mhs/{heads}h1",
        base=f"base/{own_teacher}",  # the labels-only student
        student=f"student/{own_teacher}",  # of the student's own teacher
        last_student=f"student/{[*study.teachers][-1]}",
        hydra=f"hydra/{heads}h1",
        ensemble="ensemble/students",  # of one teacher each
        teacher=f"teacher/{own_teacher}",  # the student's own
        one_kind=f"mhs/{number(heads)}-{own_teacher}",  # every head's teacher is of that kind, of other seeds
    )


def headline(study: Study) -> list[tuple[str, str]]:
    """The comparisons named before their fits of which the study runs both; those that decide stand first."""
    of = roles(study)
    pairs = primary(study) if study.corrected == "primary" else []
    pairs += [(of.mhs, rival) for rival in (of.base, of.student, of.last_student, of.hydra, of.ensemble, of.teacher)]
    pairs += [(of.last_student, of.base), (of.mhs, of.one_kind)]
    return run_here(study, dict.fromkeys(pairs))  # two roles may be one system


def primary(study: Study) -> list[tuple[str, str]]:
    """The four comparisons that decide, named before the fits of ten seeds: Holm over them."""
    of = roles(study)
    return [(of.mhs, rival) for rival in (of.base, of.student, of.one_kind, of.ensemble)]


def corrected(study: Study) -> list[tuple[str, str]]:
    """The headline comparisons that are corrected together: the primary ones where the file says so, else all."""
    return run_here(study, primary(study)) if study.corrected == "primary" else headline(study)


def run_here(study: Study, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of which the study runs both systems."""
    run = {name for name, system in study.systems.items() if system.seeds}
    return [pair for pair in pairs if run.issuperset(pair)]


def number(count: int) -> str:
    return {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}.get(count, str(count))


def systems(study: Study) -> list[Row]:
    """Every system of this paper, each once, in the order of the paper's tables; then those of one's own."""
    rows = [*trivial(study), *table2(study), *table3(study), *kinds(study)]
    rows += [*table4(study), *number_of_heads(study), *direct(study), *own(study)]
    return list(by_name(rows).values())


def notebooks(study: Study) -> list[Notebook]:
    """Notebooks 01 to 07, each with the systems that it reads."""
    baselines, timed = tuple(trivial(study)), study.latency is not None
    models = (*baselines, *teachers(study), *labels_only(study))
    uses = (*baselines, *table2(study), *table3(study), *kinds(study), *own(study), *taken.systems(study))
    shapes = (*baselines, *labels_only(study)[-1:], *table4(study), *number_of_heads(study))
    data = "What do the data look like, do the splits leak, and how far do trivial rankers get?"
    transfer = "How good are the teachers, and what does transfer-then-adapt add?"
    costs = (*trivial(study), *table2(study))
    latency = [Notebook("05_latency", "What does each model cost to run?", costs, timed=True)] if timed else []
    resemble = Notebook("06_head_teacher_agreement", "Do heads resemble their teachers?", (*models, mhs(study)))
    return [
        Notebook("01_data", data, baselines),
        Notebook("02_teachers", transfer, (*models, *direct(study))),
        Notebook("03_distillation", "Does one model with k heads match the ensemble?", uses),
        Notebook("04_mhs_configs", "How many layers should a head have?", shapes, timed=timed),
        *latency,
        *[resemble] * (len(study.teachers) > 1),  # it asks whether a head has more of its own teacher than of others
        Notebook("07_significance", "Which differences are real?", tuple(systems(study))),
    ]


# ---------------------------------------------------------------- the paper's tables, row by row


def trivial(study: Study) -> list[Row]:
    """What every table shows as a baseline: rankers that learn nothing (Cosinet, section 2.1), the best one last."""
    labels = {"word_overlap": "word overlap (WO)"}
    if row.best_trivial(study.data.target) != "word_overlap":  # the order of the candidates means something
        order = {"reciprocal_rank": "original order (RR)"}
        labels = order | labels | {"overlap_then_rank": "word overlap, then order (WO+RR)"}
    rows = []
    for scorer, label in labels.items():
        ranker = row.as_it_is(study, "lexical", scorer=scorer)
        rows.append(Row(f"lexical/{scorer}", label, "trivial", **ranker, seeds=(0,)))
    return planned(study, rows)


def table2(study: Study) -> list[Row]:
    """Rows 1 to 14; beyond the paper, the study's further bases, and before the ensembles the mean of the teachers."""
    return [*teachers(study), *labels_only(study), *families(study), *students(study)]


def teachers(study: Study) -> list[Row]:
    """Rows 1-3: the large models, adapted to the target set.  They teach; the last row is the student's own."""
    rows = []
    for name, each in reversed(study.teachers.items()):
        run, label = f"teacher/{name}", f"{each.label} teacher"
        if each.scores:
            table = row.as_it_is(study, "ranker", source=each.scores, max_length=study.data.max_length)
            rows.append(Row(run, label, "teacher", **table, seeds=(0,)))
        else:
            rows.append(Row(run, label, "teacher", **fit(study, run, **objective(each))))
    return planned(study, rows)


def labels_only(study: Study) -> list[Row]:
    """Rows 4-6: the base models, each adapted by its kind's objective without a teacher; the last is the student's."""
    rows = []
    for name, each in reversed(study.teachers.items()):
        if each.base or not each.scores:
            label = "labels-only student" if name == study.own_teacher else f"labels-only student ({each.label})"
            rows.append(Row(f"base/{name}", label, "labels only", **fit(study, study.base_of(name), **objective(each))))
    return planned(study, rows)


def families(study: Study) -> list[Row]:
    """Beyond the paper: base models of other families than the student, by the student's own teacher or by none."""
    own_teacher, rows = study.own_teacher, []
    for name, base in study.bases.items():
        start, label = f"base/{name}", f"labels-only student ({base.label})"
        plain = fit(study, start, **objective(study.teachers[own_teacher]))
        rows.append(Row(f"base/{name}", label, "labels only", **plain))
        taught, teacher = fit(study, start, "kd", (f"teacher/{own_teacher}",)), study.teachers[own_teacher].label
        label = f"{base.label}, taught by the {teacher} teacher"
        rows.append(Row(f"taught-base/{name}", label, "one teacher", **taught))
    return planned(study, rows)


def students(study: Study) -> list[Row]:
    """Rows 7-14: students of one teacher, the ensembles, Hydra, and MHS, which is the last.

    Rows 7, 8 and 11 only where teachers have base models of their own: those, taught by their own teacher.
    """
    heads, many = len(study.teachers), number(len(study.teachers))
    labels = {name: teacher.label for name, teacher in study.teachers.items()}
    with_base = [name for name in labels if study.teachers[name].base]
    rows = []
    for name in reversed(with_base):
        taught = fit(study, f"base/{name}", "kd", (f"teacher/{name}",))
        rows.append(Row(f"taught-base/{name}", f"{labels[name]} base, taught by its teacher", "one teacher", **taught))
    for name in reversed(labels):
        taught = fit(study, "student", "kd", (f"teacher/{name}",))
        rows.append(Row(f"student/{name}", f"student of the {labels[name]} teacher", "one teacher", **taught))
    bases, of_one_teacher = [base.run for base in reversed(labels_only(study))], [f"student/{name}" for name in labels]
    taught_bases = [f"{'taught-base' if name in with_base else 'student'}/{name}" for name in labels]
    tuned = {"combine": "weighted", "trials": study.ensemble.trials}
    ensembles = {
        "teachers": ("ensemble of teachers", ensemble(study, every_teacher(study))),
        "bases": (f"ensemble of {number(len(bases))} labels-only students", ensemble(study, bases, **tuned)),
        "taught-bases": (f"ensemble of {many} taught bases", ensemble(study, taught_bases, **tuned)),
        "students": (f"ensemble of {many}", ensemble(study, of_one_teacher, **tuned)),
    }
    if not with_base:
        del ensembles["taught-bases"]
    rows += [Row(f"ensemble/{name}", label, "ensemble", **of) for name, (label, of) in ensembles.items()]
    hydra = with_heads(study, heads, teachers=hydra_teachers(study), **PER_HEAD)
    rows.append(Row(roles(study).hydra, "Hydra", "heads", **hydra))
    return [*planned(study, rows), mhs(study)]


def mhs(study: Study) -> Row:
    """The student with a head for each teacher."""
    student = with_heads(study, len(study.teachers), teachers=every_teacher(study), **PER_HEAD)
    return Row(roles(study).mhs, "MHS", "heads", **student).of(study)


def table3(study: Study) -> list[Row]:
    """Table 3: four uses of teachers for one model, and four for the one with heads; last, section 3.2's student."""
    of, heads, every = roles(study), len(study.teachers), every_teacher(study)
    label, grid = study.teachers[study.own_teacher].label, tuple(study.grid_seeds)
    summed, in_turn = (fit(study, "student", loss, every) for loss in ("kd_sum", "kd_round_robin"))
    alone = with_heads(study, heads, perturb=True, start="student", loss="ce_per_head")
    one_teacher = with_heads(study, heads, perturb=True, teachers=(of.teacher,) * heads, **PER_HEAD)
    from_ensemble = fit(study, "student", "kd", ("ensemble/teachers",))
    rows = [
        Row("student/sum", "student of all teachers, summed", "one model", **summed, seeds=grid),
        Row("student/robin", "student of all teachers, in turn", "one model", **in_turn, seeds=grid),
        Row(f"{of.mhs}-no-teacher", "MHS without a teacher", "heads", **alone, seeds=grid),
        Row(f"{of.mhs}-one-teacher", f"MHS, one {label} teacher", "heads", **one_teacher, seeds=grid),
    ]
    last = Row("student/from-ensemble", "student of the ensemble of teachers", "one model", **from_ensemble, seeds=grid)
    others = {system.run: system for system in table2(study)}
    first, with_teachers = [others[of.base], others[of.student]], [others[of.hydra], others[of.mhs]]
    return [*first, *planned(study, rows), *with_teachers, last.of(study)]


def kinds(study: Study) -> list[Row]:
    """Beyond the paper: kind, number and heads apart: as many teachers as heads of one kind, and one for all heads.

    Of the student's own kind and of the last one; the paper's Table 3 has one teacher of the student's own kind.
    Rows of several seeds' teachers only where the study has several heads, and as many seeds.
    """
    heads, own_teacher, last = len(study.teachers), study.own_teacher, [*study.teachers][-1]
    many, labels = number(heads), {name: teacher.label for name, teacher in study.teachers.items()}
    grid, rows = tuple(study.grid_seeds), []
    for name in dict.fromkeys([own_teacher, last] if len(study.seeds) >= heads > 1 else []):
        if study.teachers[name].scores:
            continue  # the same in every seed
        run, label = f"mhs/{many}-{name}", f"MHS, {many} {labels[name]} teachers"
        seeds = None if name == own_teacher else grid  # that one is in a headline comparison
        student = with_heads(study, heads, teachers=of_seeds(study, f"teacher/{name}"), **PER_HEAD)
        rows.append(Row(run, label, "heads", **student, seeds=seeds))
    if study.rows.get("mhs/two-families") is not None:
        teachers = (f"base/{own_teacher}", *every_teacher(study)[1:])  # labels-only, of the student's own encoder
        student = with_heads(study, heads, teachers=teachers, **PER_HEAD)
        rows.append(Row("mhs/two-families", "MHS, teachers of two families", "heads", **student))
    if study.rows.get(calibrated := f"student/{own_teacher}-calibrated") is not None:
        student = fit(study, "student", "kd", (f"teacher/{own_teacher}",), calibration="platt of all")
        label = f"student of the {labels[own_teacher]} teacher, calibrated"
        rows.append(Row(calibrated, label, "one teacher", **student))
    if last != own_teacher:
        student = with_heads(study, heads, perturb=True, teachers=(f"teacher/{last}",) * heads, **PER_HEAD)
        rows.append(Row(f"mhs/one-{last}", f"MHS, one {labels[last]} teacher", "heads", **student, seeds=grid))
    return planned(study, rows)


def of_seeds(study: Study, teacher: str | Row) -> Callable[[int], tuple[tuple[str | Row, int], ...]]:
    """Seed → as many runs of one system as heads: of the seed, then of those that follow among the study's, or of its
    first ones: seeds that a study adds leave those before them what they were.
    """
    seeds, heads = study.seeds, len(study.teachers)

    def teachers(seed: int) -> tuple[tuple[str | Row, int], ...]:
        chosen = seeds
        if study.mhs.teachers_of_one_kind != "next":
            chosen = seeds[:heads] if seed in seeds[:heads] else [*seeds[: heads - 1], seed]
        own = chosen.index(seed)
        return tuple((teacher, each) for each in [*chosen[own:], *chosen[:own]][:heads])

    return teachers


def table4(study: Study) -> list[Row]:
    """Table 4: heads of more layers, the paper's scaled and those of `mhs.bodies`; the leanest, MHS itself, first."""
    every, depth, rows = every_teacher(study), study.mhs.body + 1, []
    depths = {scaled(layers, depth) for layers in HEAD_DEPTHS} | {depth - body for body in study.mhs.bodies}
    for layers in sorted(depths - {1}):
        student = with_heads(study, len(every), layers, teachers=every, **PER_HEAD)
        rows.append(Row(f"mhs/{len(every)}h{layers}", f"MHS, heads of {layers} layers", "heads", **student))
    return [mhs(study), *planned(study, rows)]


def number_of_heads(study: Study) -> list[Row]:
    """Beyond the paper: other numbers of heads, each of one layer, that learn from the teachers in turn."""
    every, rows = every_teacher(study), []
    for heads in sorted({*study.mhs.heads} - {len(every)}):
        label, in_turn = f"MHS, {heads} head{'s' * (heads > 1)}", tuple(every[i % len(every)] for i in range(heads))
        student = with_heads(study, heads, perturb=heads > len(every), teachers=in_turn, **PER_HEAD)
        rows.append(Row(f"mhs/{heads}h1", label, "heads", **student, seeds=tuple(study.grid_seeds)))
    return planned(study, rows)


def direct(study: Study) -> list[Row]:
    """Rows 1-6 by the same objectives without the transfer step, to measure what it adds; none where there is none."""
    if study.fit.direct is None:
        return []
    rows = []
    for system in (*teachers(study), *labels_only(study)):
        if system.kind == "ranker":
            continue
        role, name = system.run.split("/")
        encoder = study.encoder(system.run if role == "teacher" else study.base_of(name))
        learns = objective(study.teachers[name])
        learns["training"] = row.with_changes(study.fit.direct, encoder.direct_fit)
        fitted = fit(study, **learns, **row.origin(encoder))
        label, seeds = f"{system.label}, no transfer", tuple(study.grid_seeds)
        rows.append(Row(f"direct/{system.run}", label, "no transfer", **fitted, seeds=seeds))
    return planned(study, rows)


def own(study: Study) -> list[Row]:
    """Systems of one's own, a study's section `own`; its teachers teach them as they do the study's students."""
    rows = []
    for name, settings in study.own.items():
        try:
            if not objectives.is_own(settings.loss):  # whose module may import what a plan does without
                objectives.checked(settings.loss, len(settings.teachers))
        except ValueError as error:
            raise ValueError(f"own.{name}: {error}") from None
        fields = settings.model_dump(include={"model", "settings"}, exclude_defaults=True)
        if settings.teachers:
            fields |= row.calibration(study)
        teachers = tuple(f"teacher/{teacher}" for teacher in settings.teachers)
        fitted = fit(study, settings.start, settings.loss, teachers, **fields)
        rows.append(Row(f"own/{name}", settings.label or name, "own", **fitted))
    return planned(study, rows)


# ---------------------------------------------------------------- what rows have in common


def every_teacher(study: Study) -> tuple[str, ...]:
    """The teachers in the file's order: head i learns from teacher i."""
    return tuple(f"teacher/{name}" for name in study.teachers)


def hydra_teachers(study: Study) -> Any:
    """Hydra's teachers: row 6 of the next seeds in turn; or of the study's first ones for all its seeds, and, where it
    has too few, more of them.
    """
    base, heads = labels_only(study)[-1], len(study.teachers)
    if study.mhs.teachers_of_one_kind == "next":
        return of_seeds(study, base)
    more = replace(base, run=f"hydra-teacher/{study.own_teacher}")
    further = range(max(study.seeds) + 1, max(study.seeds) + heads)
    every = [*((base, seed) for seed in study.seeds), *((more, seed) for seed in further)]
    return tuple(every[:heads])


# ---------------------------------------------------------------- what stands beside the paper's rows


def scaled(layers: int, depth: int) -> int:
    """A head of so many of the paper's 12 layers, in a model of `depth` layers."""
    return max(1, round(layers * depth / PAPER_DEPTH))


def stands_for(study: Study) -> dict[str, str]:
    """This study's configurations of Table 4 → the paper's; the leanest where several of those fall on one; a model
    of one head stands for none.
    """
    depth, heads = study.mhs.body + 1, len(study.teachers)
    if heads == 1:
        return {}
    return {f"mhs/{heads}h{scaled(layers, depth)}": f"mhs/{PAPER_HEADS}h{layers}" for layers in reversed(HEAD_DEPTHS)}


def ours(study: Study, run: str) -> str:
    """What stands beside a row of `published/*.csv`; "" where none of our teachers stands for the paper's."""
    names = {teacher.stands_for: name for name, teacher in study.teachers.items() if teacher.stands_for}
    if run in OF_ALL_KINDS:
        return run if set(PAPER_TEACHERS) <= set(names) else ""
    role, _, place = run.rpartition("/")
    return f"{role}/{names[place]}" if place in names else "" if place in PAPER_TEACHERS else run
