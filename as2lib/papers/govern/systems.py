"""GOVERN's systems: teachers of growing size, their ensembles, and students that hear a mean or a vote of them."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from as2lib.papers.building import baseline, budget, computing, origin, scored, splits, transferred, vocabulary
from as2lib.study.run import Notebook, Run, System

if TYPE_CHECKING:
    from as2lib.study import Study
    from as2lib.study.params import Encoder, Training

FOLDS = 10  # every teacher learns from nine of ten folds of the labelled questions (sections 4.2 and 4.6)
TABLE_4 = 5  # its number of teachers
ALIKE = 2  # up to so many teachers the vote is the mean: two that agree both count, and so do two that do not
TEACHERS, STUDENTS, ABLATION = "govern-teachers", "govern", "govern"  # groups of fits


def systems(study: "Study") -> list[System]:
    """Every system of this paper; none where the study has no section for it."""
    if study.govern is None:
        return []
    return [*table2(study), *ablation(study), *heads(study)]


def notebooks(study: "Study") -> list[Notebook]:
    if study.govern is None:
        return []
    question = "Can teachers vote on each sample?"
    reproduces = "GOVERN, Tables 1 to 4 and Figure 2"
    return [Notebook("10_govern", question, reproduces, (study.systems[baseline(study)], *systems(study)))]


def table2(study: "Study") -> list[System]:
    """Table 2: teachers, ensembles, students without labels, and students that go on with them.

    Beyond it CA-MKD without its cross entropy, which GOVERN-CA has not either.
    """
    seeds = tuple(study.govern.seeds or study.seeds)
    students = {
        "mean": "student of the mean",
        "lr": "student of the logistic regression",
        "govern": "student of the vote (GOVERN)",
    }
    labelled = {
        "ca-mkd": "GOVERN, then CA-MKD on labels",
        "govern-ca": "GOVERN, then GOVERN-CA on labels",
        "ca-mkd-without-ce": "GOVERN, then CA-MKD without cross entropy",
    }
    teachers = [
        System(
            f"govern/teacher-{n}",
            f"teacher {n}: {encoder.backbone(study).size}",
            "teacher",
            partial(teacher, study, n),
        )
        for n, encoder in enumerate(study.govern.teachers, 1)
    ]
    return [
        *teachers,
        System("govern/mean-ensemble", "mean of the teachers", "ensemble", partial(ensemble, study, "mean")),
        System("govern/lr-ensemble", "logistic regression of the teachers", "ensemble", partial(ensemble, study, "lr")),
        *(System(f"govern/{n}", text, "no labels", partial(student, study, n), seeds) for n, text in students.items()),
        *(System(f"govern/{n}", text, "labels", partial(adapted, study, n), seeds) for n, text in labelled.items()),
    ]


def ablation(study: "Study") -> list[System]:
    """Figure 2 and Table 4: teachers of one size on nine folds of ten, and students that hear 1 to 10 of them."""
    settings = study.govern.ablation
    if settings is None:
        return []
    seeds = tuple(study.govern.seeds or study.seeds)
    rows = []
    for n in range(1, max(*settings.teachers, TABLE_4) + 1):
        rows.append(System(f"govern/fold-{n}", f"teacher, fold {n} left out", "fold", partial(fold, study, n)))
    rows.append(System("govern/worse-teacher", "the worse teacher", "worse", partial(worse, study)))
    for n in settings.teachers:
        make = partial(hearing, study, f"mean-of-{n}", "mean_ensemble", n)
        rows.append(System(f"govern/mean-of-{n}", f"mean of {n} teacher{'s' * (n > 1)}", "mean", make, seeds))
    for n in sorted({*settings.teachers, TABLE_4}):
        if n > ALIKE:  # up to there the student of the mean serves both
            make = partial(hearing, study, f"govern-of-{n}", "govern", n)
            rows.append(System(f"govern/govern-of-{n}", f"vote of {n} teacher{'s' * (n > 1)}", "vote", make, seeds))
    for kind in ("better", "worse"):
        make = partial(hearing, study, f"one-{kind}", "govern", TABLE_4)
        label = f"one replaced by a much {kind} one"
        rows.append(System(f"govern/one-{kind}", label, "one replaced", make, seeds))
    return rows


def heads(study: "Study") -> list[System]:
    """Beyond the paper: a head for each teacher, which learns from it alone, or from the vote of the others."""
    if not study.govern.ablation:
        return []
    seeds = tuple(study.grid_seeds)
    return [
        System("govern/heads-teacher", "a teacher a head", "heads", partial(headed, study, "teacher"), seeds),
        System("govern/heads-govern", "a vote a head", "heads", partial(headed, study, "govern"), seeds),
    ]


def teachers_of(study: "Study") -> list[Run]:
    return [teacher(study, n) for n in range(1, len(study.govern.teachers) + 1)]


def teacher(study: "Study", number: int, seed: int = 0) -> Run:
    """A teacher of Table 2: cross entropy, each on its own 90 % of the labelled data."""
    return _taught(study, f"govern/teacher-{number}", study.govern.teachers[number - 1], number - 1, TEACHERS)


def fold(study: "Study", number: int, seed: int = 0) -> Run:
    """A teacher of Figure 2."""
    return _taught(study, f"govern/fold-{number}", study.govern.ablation.teacher, number - 1, ABLATION)


def worse(study: "Study", seed: int = 0) -> Run:
    """The much worse teacher of Table 4."""
    settings = study.govern.ablation
    return _taught(study, "govern/worse-teacher", settings.worse or settings.student, TABLE_4 - 1, ABLATION)


def ensemble(study: "Study", name: str, seed: int = 0) -> Run:
    """The mean of the teachers, or a logistic regression over their scores, fitted on dev."""
    spec = {"combine": {"mean": "mean", "lr": "logistic"}[name]}
    members = {"members": tuple(teachers_of(study))}
    return Run(f"govern/{name}-ensemble/seed-0", "ensemble", spec, scored(study), 0, TEACHERS, members)


def student(study: "Study", name: str, seed: int) -> Run:
    """A student of Table 2 without labels; an ensemble by logistic regression is one teacher."""
    teachers = [ensemble(study, "lr")] if name == "lr" else teachers_of(study)
    loss = "govern" if name == "govern" else "mean_ensemble"
    settings = study.govern
    return _of_pool(study, name, settings.student, loss, teachers, settings.unlabelled_fit, seed, STUDENTS)


def adapted(study: "Study", name: str, seed: int) -> Run:
    """A student that goes on from "GOVERN on unlabelled data", with labels."""
    loss = name.replace("-", "_")
    spec = {"loss": loss, **_learning(study, study.govern.labelled_fit)}
    parents = {"start": (student(study, "govern", seed),), "teachers": tuple(teachers_of(study))}
    return Run(f"govern/{name}/seed-{seed}", "fit", spec, splits(study.data.target), seed, STUDENTS, parents)


def hearing(study: "Study", name: str, loss: str, number: int, seed: int) -> Run:
    """A student of the ablation that hears so many teachers; the last of five is replaced in `one-better`, `-worse`."""
    teachers = [fold(study, n) for n in range(1, number + 1)]
    if name == "one-better":
        teachers[-1] = teacher(study, len(study.govern.teachers))
    if name == "one-worse":
        teachers[-1] = worse(study)
    settings = study.govern.ablation
    return _of_pool(study, name, settings.student, loss, teachers, settings.fit, seed, ABLATION)


def headed(study: "Study", name: str, seed: int) -> Run:
    """A student of the pool with a head for each teacher."""
    teachers, settings = teachers_of(study), study.govern
    shape = {"mhs": {"body": study.mhs.body, "heads": len(teachers), "combine": study.mhs.combine}}
    loss, training = f"{name}_a_head", settings.unlabelled_fit
    return _of_pool(study, f"heads-{name}", settings.student, loss, teachers, training, seed, STUDENTS, shape)


def _taught(study: "Study", name: str, encoder: "Encoder", left_out: int, group: str) -> Run:
    spec, data, parents = _start(study, encoder)
    spec |= {"loss": "ce", "leave_out": [left_out, FOLDS], **_learning(study, study.govern.teacher_fit)}
    data |= splits(study.data.target)
    return Run(f"{name}/seed-0", "fit", spec, data, 0, group, parents)


def _of_pool(
    study: "Study",
    name: str,
    encoder: "Encoder",
    loss: str,
    teachers: Sequence[Run],
    training: "Training | None",
    seed: int,
    group: str,
    shape: dict[str, Any] | None = None,
) -> Run:
    """A student of the unlabelled pool."""
    start, data, parents = _start(study, encoder)
    spec = {**start, "loss": loss, "unlabelled": True, **(shape or {}), **_learning(study, training)}
    data |= {"train": tuple(study.govern.unlabelled)}
    data |= scored(study) if spec["training"].get("evaluate_every") else {"test": tuple(study.data.target.test)}
    parents |= {"teachers": tuple(teachers)}
    return Run(f"govern/{name}/seed-{seed}", "fit", spec, data, seed, group, parents)


def _learning(study: "Study", training: "Training | None") -> dict[str, Any]:
    """How long a fit learns, where its section does not say as long as the study's others, and how it computes."""
    return {**budget(study, training or study.fit.adapt), **computing(study)}


def _start(study: "Study", encoder: "Encoder") -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The parts of spec, data and parents that say from which weights a fit starts."""
    if study.govern.start == "backbone":
        return *_origin(study, encoder.backbone(study)), {}
    first = transfer(study, encoder.of) if study.govern.transfer else transferred(study, encoder.of)
    return ({"layers": encoder.layers} if encoder.layers else {}), {}, {"start": (first,)}


def transfer(study: "Study", of: str) -> Run:
    """The first step of an encoder, where the study has one of its own for this paper."""
    spec, data = _origin(study, study.encoder(of))
    training = study.govern.transfer_fit or study.fit.transfer
    spec |= {"loss": "ce", **budget(study, training, study.encoder(of).transfer_fit), **computing(study)}
    name, data = f"govern/transfer/{of}/seed-0", data | splits(study.govern.transfer)
    return Run(name, "fit", spec, data, 0, TEACHERS)


def _origin(study: "Study", backbone: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return origin(backbone), {"vocabulary": vocabulary(study)} if backbone.config else {}
