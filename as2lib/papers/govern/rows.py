"""GOVERN's systems: teachers of growing size, their ensembles, and students that hear a mean or a vote of them."""

from typing import Any

from as2lib.papers.row import baseline, ensemble, fit, origin, planned, scored, splits, with_changes, with_heads
from as2lib.papers.row import transfer as of_study
from as2lib.study import Study
from as2lib.study.params import Ablation, Encoder, Govern
from as2lib.study.run import Notebook, Row

FOLDS = 10  # every teacher learns from nine of ten folds of the labelled questions (sections 4.2 and 4.6)
TABLE_4 = 5  # its number of teachers
VOTE_IS_MEAN = 2  # up to so many teachers the vote is the mean: two that agree both count, and so do two that do not


def systems(study: Study) -> list[Row]:
    study = study.of("govern")
    return [*table2(study), *ablation(study), *heads(study)]


def notebooks(study: Study) -> list[Notebook]:
    read = (study.systems[baseline(study)], *systems(study))
    return [Notebook("10_govern", "Can teachers vote on each sample?", read)]


def table2(study: Study) -> list[Row]:
    """Table 2, and beyond it CA-MKD without its cross entropy, which GOVERN-CA has not either."""
    settings, every, data, seeds = study.govern, teachers_of(study), splits(study.data.target), study.govern.seeds
    pool = of_pool(study, settings)
    rows = []
    for n, encoder in enumerate(settings.teachers, 1):
        rows.append(teacher(study, f"teacher-{n}", f"GOVERN's teacher {n}: {encoder.backbone(study).size}", encoder, n))
    vote = fit(study, loss="govern", teachers=every, **pool)
    vote = Row("govern/govern", "student of the vote (GOVERN)", "no labels", **vote, seeds=seeds)
    mean = fit(study, loss="mean_ensemble", teachers=every, **pool)
    logistic = fit(study, loss="mean_ensemble", teachers=("govern/lr-ensemble",), **pool)
    losses = ("ca_mkd", "govern_ca", "ca_mkd_without_ce")
    ca_mkd, govern_ca, without_ce = (fit(study, vote, loss, every, data, settings.labelled_fit) for loss in losses)
    mean_ensemble, lr_ensemble = ensemble(study, every), ensemble(study, every, combine="logistic")
    rows += [
        Row("govern/mean-ensemble", "mean of GOVERN's teachers", "ensemble", **mean_ensemble, seeds=(0,)),
        Row("govern/lr-ensemble", "logistic regression of GOVERN's teachers", "ensemble", **lr_ensemble, seeds=(0,)),
        Row("govern/mean", "student of the mean", "no labels", **mean, seeds=seeds),
        Row("govern/lr", "student of the logistic regression", "no labels", **logistic, seeds=seeds),
        vote,
        Row("govern/ca-mkd", "GOVERN, then CA-MKD on labels", "labels", **ca_mkd, seeds=seeds),
        Row("govern/govern-ca", "GOVERN, then GOVERN-CA on labels", "labels", **govern_ca, seeds=seeds),
        Row(
            "govern/ca-mkd-without-ce", "GOVERN, then CA-MKD without cross entropy", "labels", **without_ce, seeds=seeds
        ),
    ]
    return planned(study, rows)


def ablation(study: Study) -> list[Row]:
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
    pool, seeds = of_pool(study, settings), study.govern.seeds
    for n in settings.teachers:
        student = fit(study, loss="mean_ensemble", teachers=folds[:n], **pool)
        rows.append(Row(f"govern/mean-of-{n}", f"mean of {n} teacher{'s' * (n > 1)}", "mean", **student, seeds=seeds))
    for n in sorted({*settings.teachers, TABLE_4}):
        if n > VOTE_IS_MEAN:
            student = fit(study, loss="govern", teachers=folds[:n], **pool)
            rows.append(Row(f"govern/govern-of-{n}", f"vote of {n} teachers", "vote", **student, seeds=seeds))
    others = {"better": teachers_of(study)[-1], "worse": "govern/worse-teacher"}
    for size, other in others.items():
        student = fit(study, loss="govern", teachers=(*folds[: TABLE_4 - 1], other), **pool)
        rows.append(
            Row(f"govern/one-{size}", f"one replaced by a much {size} one", "one replaced", **student, seeds=seeds)
        )
    return planned(study, rows)


def heads(study: Study) -> list[Row]:
    """Beyond the paper: a head for each teacher, which learns from it alone, or from the vote of the others."""
    if not study.govern.ablation:
        return []
    every, rows = teachers_of(study), []
    for name, label in (("teacher", "a teacher a head"), ("govern", "a vote a head")):
        loss, pool = f"{name}_a_head", of_pool(study, study.govern)
        student = with_heads(study, len(every), loss=loss, teachers=every, **pool)
        rows.append(Row(f"govern/heads-{name}", label, "heads", **student, seeds=tuple(study.grid_seeds)))
    return planned(study, rows)


def teachers_of(study: Study) -> tuple[str, ...]:
    return tuple(f"govern/teacher-{n}" for n in range(1, len(study.govern.teachers) + 1))


def teacher(study: Study, name: str, label: str, encoder: Encoder, n: int, group: str = "teacher") -> Row:
    """A teacher: cross entropy on its own nine folds of ten of the labelled questions, without the nth; one seed."""
    folds, data = {"leave_out": [n - 1, FOLDS]}, splits(study.data.target)
    training = study.govern.teacher_fit or with_changes(study.fit.adapt, encoder.backbone(study).adapt_fit)
    fitted = fit(study, data=data, training=training, **folds, **starting(study, encoder))
    return Row(f"govern/{name}", label, group, **fitted, seeds=(0,))


def of_pool(study: Study, settings: Govern | Ablation) -> dict[str, Any]:
    """What students of the unlabelled pool have in common, as `fit` takes it: those of Table 2, or of the ablation."""
    training = (settings.unlabelled_fit if settings is study.govern else settings.fit) or study.fit.adapt
    data = {"train": tuple(study.govern.unlabelled)}
    data |= scored(study) if training.evaluate_every else {"test": tuple(study.data.target.test)}  # dev chooses weights
    return {"unlabelled": True, "data": data, "training": training, **starting(study, settings.student)}


def starting(study: Study, encoder: Encoder) -> dict[str, Any]:
    """From which weights a fit starts."""
    settings = study.govern
    if settings.start == "backbone":
        return origin(encoder.backbone(study))
    layers = {"layers": encoder.layers} if encoder.layers else {}
    if settings.transfer is None:
        return {"start": of_study(study, encoder.of), **layers}
    backbone, name = study.encoder(encoder.of), f"govern/transfer/{encoder.of}"
    training = with_changes(study.fit.transfer, backbone.transfer_fit)
    first = fit(study, data=splits(settings.transfer), training=training, **origin(backbone))
    return {"start": Row(name, name, "transfer", **first, seeds=(0,)), **layers}
