"""GOVERN's systems: teachers of growing size, their ensembles, and students that hear a mean or a vote of them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from as2lib.papers.row import Row, baseline, origin, scored, splits, with_changes
from as2lib.papers.row import systems as of_rows
from as2lib.papers.row import transfer as of_study
from as2lib.study.run import Notebook, System

if TYPE_CHECKING:
    from as2lib.study import Study
    from as2lib.study.params import Ablation, Encoder, Govern

FOLDS = 10  # every teacher learns from nine of ten folds of the labelled questions (sections 4.2 and 4.6)
TABLE_4 = 5  # its number of teachers
ALIKE = 2  # up to so many teachers the vote is the mean: two that agree both count, and so do two that do not


def systems(study: "Study") -> list[System]:
    """Every system of this paper; none where the study has no section for it."""
    if study.govern is None:
        return []
    return [*table2(study), *ablation(study), *heads(study)]


def notebooks(study: "Study") -> list[Notebook]:
    if study.govern is None:
        return []
    read = (study.systems[baseline(study)], *systems(study))
    return [Notebook("10_govern", "Can teachers vote on each sample?", read)]


def table2(study: "Study") -> list[System]:
    """Table 2: teachers, ensembles, students without labels, and students that go on with them.

    Beyond it CA-MKD without its cross entropy, which GOVERN-CA has not either.
    """
    every, lr = teachers_of(study), ("govern/lr-ensemble",)
    ensemble = {"group": "ensemble", "kind": "ensemble", "members": every, "seeds": (0,)}
    encoders = enumerate(study.govern.teachers, 1)
    rows = [
        *(teacher(study, f"teacher-{n}", f"teacher {n}: {each.backbone(study).size}", each, n) for n, each in encoders),
        Row("govern/mean-ensemble", "mean of the teachers", **ensemble, spec={"combine": "mean"}),
        Row("govern/lr-ensemble", "logistic regression of the teachers", **ensemble, spec={"combine": "logistic"}),
        student(study, "mean", "student of the mean", "mean_ensemble", every),
        student(study, "lr", "student of the logistic regression", "mean_ensemble", lr),
        student(study, "govern", "student of the vote (GOVERN)", "govern", every),
        labelled(study, "ca-mkd", "GOVERN, then CA-MKD on labels", "ca_mkd"),
        labelled(study, "govern-ca", "GOVERN, then GOVERN-CA on labels", "govern_ca"),
        labelled(study, "ca-mkd-without-ce", "GOVERN, then CA-MKD without cross entropy", "ca_mkd_without_ce"),
    ]
    return of_rows(study, rows)


def ablation(study: "Study") -> list[System]:
    """Figure 2 and Table 4: teachers of one size on nine folds of ten, and students that hear 1 to 10 of them."""
    settings = study.govern.ablation
    if settings is None:
        return []
    folds = [f"govern/fold-{n}" for n in range(1, max(*settings.teachers, TABLE_4) + 1)]
    rows = [
        teacher(study, f"fold-{n}", f"teacher, fold {n} left out", settings.teacher, n, "fold")
        for n in range(1, len(folds) + 1)
    ]
    other = settings.worse or settings.student
    rows.append(teacher(study, "worse-teacher", "the worse teacher", other, TABLE_4, "worse"))
    for n in settings.teachers:
        label = f"mean of {n} teacher{'s' * (n > 1)}"
        rows.append(student(study, f"mean-of-{n}", label, "mean_ensemble", folds[:n], "mean", settings))
    for n in sorted({*settings.teachers, TABLE_4}):
        if n > ALIKE:  # up to there the student of the mean serves both
            label = f"vote of {n} teachers"
            rows.append(student(study, f"govern-of-{n}", label, "govern", folds[:n], "vote", settings))
    others = {"better": teachers_of(study)[-1], "worse": "govern/worse-teacher"}
    for kind, replaced in others.items():
        teachers, label = [*folds[: TABLE_4 - 1], replaced], f"one replaced by a much {kind} one"
        rows.append(student(study, f"one-{kind}", label, "govern", teachers, "one replaced", settings))
    return of_rows(study, rows)


def heads(study: "Study") -> list[System]:
    """Beyond the paper: a head for each teacher, which learns from it alone, or from the vote of the others."""
    if not study.govern.ablation:
        return []
    every = teachers_of(study)
    shape = {"heads": len(every), "group": "heads", "seeds": tuple(study.grid_seeds)}
    rows = [
        student(study, "heads-teacher", "a teacher a head", "teacher_a_head", every, **shape),
        student(study, "heads-govern", "a vote a head", "govern_a_head", every, **shape),
    ]
    return of_rows(study, rows)


def teachers_of(study: "Study") -> tuple[str, ...]:
    return tuple(f"govern/teacher-{n}" for n in range(1, len(study.govern.teachers) + 1))


def teacher(study: "Study", name: str, label: str, encoder: "Encoder", n: int, group: str = "teacher") -> Row:
    """A teacher: cross entropy on its own nine folds of ten of the labelled questions, without the nth; one seed."""
    start, spec = starting(study, encoder)
    spec |= {"leave_out": [n - 1, FOLDS]}
    fit = {"start": start, "spec": spec, "data": splits(study.data.target), "training": study.govern.teacher_fit}
    return Row(f"govern/{name}", label, group, **fit, seeds=(0,))


def student(
    study: "Study",
    name: str,
    label: str,
    loss: str,
    teachers: Iterable[str],
    group: str = "no labels",
    settings: "Govern | Ablation | None" = None,
    **fields: Any,
) -> Row:
    """A student of the unlabelled pool: one of Table 2, or of the ablation, by its `settings`.

    An ensemble by logistic regression is one teacher.  It is scored on dev where its weights are chosen there.
    """
    settings = settings or study.govern
    training = (settings.unlabelled_fit if settings is study.govern else settings.fit) or study.fit.adapt
    start, spec = starting(study, settings.student)
    data = {"train": tuple(study.govern.unlabelled)}
    data |= scored(study) if training.evaluate_every else {"test": tuple(study.data.target.test)}
    fit = {"start": start, "loss": loss, "teachers": tuple(teachers), "data": data, "training": training}
    fit |= {"spec": {**spec, "unlabelled": True}, "seeds": study.govern.seeds}
    return Row(f"govern/{name}", label, group, **(fit | fields))


def labelled(study: "Study", name: str, label: str, loss: str) -> Row:
    """A student that goes on from "GOVERN on unlabelled data", with labels."""
    every, settings = teachers_of(study), study.govern
    first = student(study, "govern", "", "govern", every)
    fit = {"start": first, "loss": loss, "teachers": every, "training": settings.labelled_fit}
    data = splits(study.data.target)
    return Row(f"govern/{name}", label, "labels", **fit, data=data, seeds=settings.seeds)


def starting(study: "Study", encoder: "Encoder") -> tuple[Row | None, dict[str, Any]]:
    """From which weights a fit starts, and what its spec says of them."""
    settings = study.govern
    if settings.start == "backbone":
        return None, origin(encoder.backbone(study))
    layers = {"layers": encoder.layers} if encoder.layers else {}
    if settings.transfer is None:
        return of_study(study, encoder.of), layers
    training = with_changes(settings.transfer_fit or study.fit.transfer, study.encoder(encoder.of).transfer_fit)
    fit = {"spec": origin(study.encoder(encoder.of)), "data": splits(settings.transfer), "training": training}
    name = f"govern/transfer/{encoder.of}"
    return Row(name, name, "transfer", **fit, seeds=(0,)), layers
