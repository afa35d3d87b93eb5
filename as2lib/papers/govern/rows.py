"""GOVERN's systems: teachers of growing size, their ensembles, and students that hear a mean or a vote of them."""

from typing import Any

from as2lib.papers.row import Row, baseline, origin, scored, splits, with_changes
from as2lib.papers.row import systems as of_rows
from as2lib.papers.row import transfer as of_study
from as2lib.study import Study
from as2lib.study.params import Ablation, Encoder, Govern
from as2lib.study.run import Notebook, System

FOLDS = 10  # every teacher learns from nine of ten folds of the labelled questions (sections 4.2 and 4.6)
TABLE_4 = 5  # its number of teachers
ALIKE = 2  # up to so many teachers the vote is the mean: two that agree both count, and so do two that do not


def systems(study: Study) -> list[System]:
    return [*table2(study), *ablation(study), *heads(study)] if study.govern else []


def notebooks(study: Study) -> list[Notebook]:
    if not study.govern:
        return []
    read = (study.systems[baseline(study)], *systems(study))
    return [Notebook("10_govern", "Can teachers vote on each sample?", read)]


def table2(study: Study) -> list[System]:
    """Table 2, and beyond it CA-MKD without its cross entropy, which GOVERN-CA has not either."""
    settings, every, lr = study.govern, teachers_of(study), ("govern/lr-ensemble",)
    sizes = [(n, encoder, encoder.backbone(study).size) for n, encoder in enumerate(settings.teachers, 1)]
    ensemble = {"group": "ensemble", "kind": "ensemble", "members": every, "seeds": (0,)}
    alone = {"group": "no labels", **of_pool(study, settings)}
    vote = Row("govern/govern", "student of the vote (GOVERN)", loss="govern", teachers=every, **alone)
    then = {"group": "labels", "start": vote, "teachers": every, "data": splits(study.data.target)}
    then |= {"training": settings.labelled_fit, "seeds": settings.seeds}
    rows = [
        *(teacher(study, f"teacher-{n}", f"GOVERN's teacher {n}: {size}", encoder, n) for n, encoder, size in sizes),
        Row("govern/mean-ensemble", "mean of GOVERN's teachers", spec={"combine": "mean"}, **ensemble),
        Row("govern/lr-ensemble", "logistic regression of GOVERN's teachers", spec={"combine": "logistic"}, **ensemble),
        Row("govern/mean", "student of the mean", loss="mean_ensemble", teachers=every, **alone),
        Row("govern/lr", "student of the logistic regression", loss="mean_ensemble", teachers=lr, **alone),
        vote,
        Row("govern/ca-mkd", "GOVERN, then CA-MKD on labels", loss="ca_mkd", **then),
        Row("govern/govern-ca", "GOVERN, then GOVERN-CA on labels", loss="govern_ca", **then),
        Row("govern/ca-mkd-without-ce", "GOVERN, then CA-MKD without cross entropy", loss="ca_mkd_without_ce", **then),
    ]
    return of_rows(study, rows)


def ablation(study: Study) -> list[System]:
    """Figure 2 and Table 4: teachers of one size on nine folds of ten, and students that hear 1 to 10 of them."""
    settings = study.govern.ablation
    if settings is None:
        return []
    folds = tuple(f"govern/fold-{n}" for n in range(1, max(*settings.teachers, TABLE_4) + 1))
    rows = []
    for n in range(1, len(folds) + 1):
        rows.append(teacher(study, f"fold-{n}", f"teacher, fold {n} left out", settings.teacher, n, "fold"))
    worse = settings.worse or settings.student
    rows.append(teacher(study, "worse-teacher", "the worse teacher", worse, TABLE_4, "worse"))
    mean, vote = ({"loss": loss, **of_pool(study, settings)} for loss in ("mean_ensemble", "govern"))
    for n in settings.teachers:
        label = f"mean of {n} teacher{'s' * (n > 1)}"
        rows.append(Row(f"govern/mean-of-{n}", label, "mean", teachers=folds[:n], **mean))
    for n in sorted({*settings.teachers, TABLE_4}):
        if n > ALIKE:  # up to there the student of the mean serves both
            rows.append(Row(f"govern/govern-of-{n}", f"vote of {n} teachers", "vote", teachers=folds[:n], **vote))
    others = {"better": teachers_of(study)[-1], "worse": "govern/worse-teacher"}
    for kind, replaced in others.items():
        teachers, label = (*folds[: TABLE_4 - 1], replaced), f"one replaced by a much {kind} one"
        rows.append(Row(f"govern/one-{kind}", label, "one replaced", teachers=teachers, **vote))
    return of_rows(study, rows)


def heads(study: Study) -> list[System]:
    """Beyond the paper: a head for each teacher, which learns from it alone, or from the vote of the others."""
    if not study.govern.ablation:
        return []
    every = teachers_of(study)
    shape = {"group": "heads", "teachers": every, "heads": len(every)}
    fit = of_pool(study, study.govern) | {"seeds": tuple(study.grid_seeds)}
    rows = [
        Row("govern/heads-teacher", "a teacher a head", loss="teacher_a_head", **shape, **fit),
        Row("govern/heads-govern", "a vote a head", loss="govern_a_head", **shape, **fit),
    ]
    return of_rows(study, rows)


def teachers_of(study: Study) -> tuple[str, ...]:
    return tuple(f"govern/teacher-{n}" for n in range(1, len(study.govern.teachers) + 1))


def teacher(study: Study, name: str, label: str, encoder: Encoder, n: int, group: str = "teacher") -> Row:
    """A teacher: cross entropy on its own nine folds of ten of the labelled questions, without the nth; one seed."""
    start, spec = starting(study, encoder)
    spec |= {"leave_out": [n - 1, FOLDS]}
    fit = {"start": start, "spec": spec, "data": splits(study.data.target), "training": study.govern.teacher_fit}
    return Row(f"govern/{name}", label, group, **fit, seeds=(0,))


def of_pool(study: Study, settings: Govern | Ablation) -> dict[str, Any]:
    """What students of the unlabelled pool have in common: those of Table 2, or of the ablation."""
    training = (settings.unlabelled_fit if settings is study.govern else settings.fit) or study.fit.adapt
    start, spec = starting(study, settings.student)
    data = {"train": tuple(study.govern.unlabelled)}
    data |= scored(study) if training.evaluate_every else {"test": tuple(study.data.target.test)}  # dev chooses weights
    fit = {"start": start, "spec": {**spec, "unlabelled": True}, "data": data, "training": training}
    return fit | {"seeds": study.govern.seeds}


def starting(study: Study, encoder: Encoder) -> tuple[Row | None, dict[str, Any]]:
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
