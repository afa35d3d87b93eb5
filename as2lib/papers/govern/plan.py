"""The runs of the GOVERN paper, one function a table; none in a study without its section."""

from typing import TYPE_CHECKING, Any

from as2lib.papers.cerberus.plan import lexical
from as2lib.papers.govern.params import Encoder
from as2lib.runs.params import Training
from as2lib.runs.run import Notebook, Run, names, roles, scored, settings

if TYPE_CHECKING:
    from as2lib.study import Study

FOLDS = 10  # every teacher learns from nine of ten folds of the labelled questions (sections 4.2 and 4.6)
TABLE_4 = 5  # its number of teachers
TEACHERS, STUDENTS, ABLATION = "govern-teachers", "govern-students", "govern-ablation"  # groups of fits


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children."""
    if study.govern is None:
        return []
    return [*teachers(study), *ensembles(study), *students(study), *supervised(study), *ablation(study), *heads(study)]


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 10 with the names of the runs it reads."""
    if study.govern is None:
        return []
    read = [*names(lexical(study)), *names(runs(study))]
    return [Notebook("10_govern", "Can teachers vote on each sample?", "GOVERN Tables 1–4 and Figure 2", read)]


def teachers(study: "Study") -> list[Run]:
    """Table 2, the four teachers of growing size: cross entropy, each on its own 90 % of the labelled data."""
    given = study.govern
    return [
        _teacher(study, f"govern/teacher-{i + 1}/seed-0", encoder, i, given.teacher_fit, TEACHERS)
        for i, encoder in enumerate(given.teachers)
    ]


def ensembles(study: "Study") -> list[Run]:
    """Table 2, the mean of the teachers and a logistic regression over their scores, fitted on dev."""
    members = {"members": names(teachers(study))}
    return [
        Run(f"govern/{name}/seed-0", "ensemble", {"combine": combine}, scored(study), 0, TEACHERS, members)
        for name, combine in (("mean-ensemble", "mean"), ("lr-ensemble", "logistic"))
    ]


def students(study: "Study") -> list[Run]:
    """Table 2, the three students of unlabelled data; an ensemble by logistic regression is one teacher."""
    given, found = study.govern, []
    taught = {
        "mean": ("mean_ensemble", names(teachers(study))),
        "lr": ("mean_ensemble", ["govern/lr-ensemble/seed-0"]),
        "govern": ("govern", names(teachers(study))),
    }
    for seed in study.seeds:
        for name, (loss, by) in taught.items():
            full = f"govern/{name}/seed-{seed}"
            found.append(_unlabelled(study, full, given.student, loss, by, seed, given.unlabelled_fit, STUDENTS))
    return found


def supervised(study: "Study") -> list[Run]:
    """Table 2, its last two rows: both continue from the student of "GOVERN on unlabelled data", with labels."""
    return [
        Run(
            f"govern/{name}/seed-{seed}",
            "fit",
            {"loss": loss, **settings(study, study.govern.labelled_fit, {})},
            roles(study.data.target),
            seed,
            STUDENTS,
            {"start": [f"govern/govern/seed-{seed}"], "teachers": names(teachers(study))},
        )
        for seed in study.seeds
        for name, loss in (("ca-mkd", "ca_mkd"), ("govern-ca", "govern_ca"))
    ]


def ablation(study: "Study") -> list[Run]:
    """Figure 2 and Table 4: teachers of one size on nine folds of ten, and students that hear 1 to 10 of them."""
    given = study.govern.ablation
    if given is None:
        return []
    most = max(*given.teachers, TABLE_4)
    fold = [f"govern/fold-{i + 1}/seed-0" for i in range(most)]
    fit = study.govern.teacher_fit
    found = [_teacher(study, name, given.teacher, i, fit, ABLATION) for i, name in enumerate(fold)]
    worse, better = "govern/worse-teacher/seed-0", f"govern/teacher-{len(study.govern.teachers)}/seed-0"
    found.append(_teacher(study, worse, given.student, TABLE_4 - 1, fit, ABLATION))
    systems = {
        f"mean-of-{n}": ("mean_ensemble", fold[:n]) for n in given.teachers
    }  # one teacher: both losses are equal
    systems |= {f"govern-of-{n}": ("govern", fold[:n]) for n in sorted({*given.teachers, TABLE_4} - {1})}
    systems |= {
        f"one-{name}": ("govern", [*fold[: TABLE_4 - 1], by])
        for name, by in zip(("better", "worse"), (better, worse), strict=True)
    }
    for seed in study.seeds:
        for name, (loss, by) in systems.items():
            full = f"govern/{name}/seed-{seed}"
            found.append(_unlabelled(study, full, given.student, loss, by, seed, given.fit, ABLATION))
    return found


def heads(study: "Study") -> list[Run]:
    """Beyond the paper: a head for each teacher, which learns from it alone, or from the vote of the others."""
    given, found = study.govern, []
    if given.ablation is None:
        return []
    shape = {"body": study.mhs.body, "heads": len(given.teachers), "combine": study.mhs.combine}
    for seed in study.grid_seeds:
        for name in ("teacher", "govern"):
            full, by = f"govern/heads-{name}/seed-{seed}", names(teachers(study))
            loss, fit = f"{name}_a_head", given.unlabelled_fit
            found.append(_unlabelled(study, full, given.student, loss, by, seed, fit, STUDENTS, mhs=shape))
    return found


def _teacher(study: "Study", name: str, encoder: Encoder, fold: int, training: Training, group: str) -> Run:
    spec, data, parents = _start(study, encoder)
    spec |= {"loss": "ce", "leave_out": [fold, FOLDS], **settings(study, training, {})}
    return Run(name, "fit", spec, data | roles(study.data.target), 0, group, parents)


def _unlabelled(
    study: "Study",
    name: str,
    encoder: Encoder,
    loss: str,
    by: list[str],
    seed: int,
    training: Training,
    group: str,
    **more: Any,
) -> Run:
    """A student that learns from its teachers over the unlabelled pool."""
    spec, data, parents = _start(study, encoder)
    spec |= {"loss": loss, "unlabelled": True, **more, **settings(study, training, {})}
    splits = scored(study) if training.evaluate_every else {"test": study.data.target.test}
    data |= {"train": study.govern.unlabelled, **splits}
    return Run(name, "fit", spec, data, seed, group, parents | {"teachers": by})


def _start(study: "Study", encoder: Encoder) -> tuple[dict[str, Any], dict[str, list[str]], dict[str, list[str]]]:
    """The parts of spec, data and parents that say from which weights a fit starts."""
    if study.govern.start == "transfer":
        return ({"layers": encoder.layers} if encoder.layers else {}), {}, {"start": [f"transfer/{encoder.of}/seed-0"]}
    backbone = encoder.backbone(study)
    origin = backbone.model_dump(include={"name", "layers", "config"}, exclude_none=True)
    vocabulary = {"vocabulary": [*study.data.transfer.train, *study.data.target.train]} if backbone.config else {}
    return {"backbone": origin}, vocabulary, {}
