"""The runs of the GOVERN paper, one function a table; none in a study without its section."""

from typing import TYPE_CHECKING, Any

from as2lib.papers.govern.params import Encoder
from as2lib.papers.govern.systems import AGAIN, ALIKE, LONGER, TABLE_4, systems
from as2lib.runs.params import Training
from as2lib.runs.run import Notebook, Run, names, of_systems, roles, scored, settings, vocabulary

if TYPE_CHECKING:
    from as2lib.study import Study

FOLDS = 10  # every teacher learns from nine of ten folds of the labelled questions (sections 4.2 and 4.6)
TRANSFER = "govern/transfer"  # of an encoder: its first step, where this paper has one of its own
TEACHERS, STUDENTS, ABLATION = "govern-teachers", "govern-students", "govern-ablation"  # groups of fits
Taught = dict[str, tuple[str, list[str]]]  # system → its loss, and the runs that teach it


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children."""
    if study.govern is None:
        return []
    found = [*transfers(study), *teachers(study), *ensembles(study), *students(study), *supervised(study)]
    return [*map(study.govern.applied, [*found, *ablation(study), *heads(study)])]


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 10 with the runs of the catalogue's systems."""
    if study.govern is None:
        return []
    read = of_systems(study, systems(study))
    return [Notebook("10_govern", "Can teachers vote on each sample?", "GOVERN Tables 1–4 and Figure 2", read)]


def transfers(study: "Study") -> list[Run]:
    """The first step of every encoder, where the study has one of its own for this paper."""
    given, found = study.govern, []
    for of in dict.fromkeys(encoder.of for encoder in given.encoders) if given.transfer else ():
        spec, data = _backbone(study, Encoder(of=of))
        spec |= {"loss": "ce", **settings(study, given.transfer_fit or study.fit.transfer, {})}
        found.append(Run(f"{TRANSFER}-{of}/seed-0", "fit", spec, data | roles(given.transfer), 0, TEACHERS))
    return found


def teachers(study: "Study") -> list[Run]:
    """Table 2, the four teachers of growing size: cross entropy, each on its own 90 % of the labelled data."""
    return [
        _teacher(study, f"govern/teacher-{fold + 1}/seed-0", encoder, fold, TEACHERS)
        for fold, encoder in enumerate(study.govern.teachers)
    ]


def ensembles(study: "Study") -> list[Run]:
    """Table 2, the mean of the teachers and a logistic regression over their scores, fitted on dev."""
    members = {"members": names(teachers(study))}
    return [
        Run(f"govern/{name}/seed-0", "ensemble", {"combine": combine}, scored(study), 0, TEACHERS, members)
        for name, combine in (("mean-ensemble", "mean"), ("lr-ensemble", "logistic"))
    ]


def students(study: "Study") -> list[Run]:
    """Table 2, the three students of unlabelled data, and two of them that learn from it for longer.

    An ensemble by logistic regression is one teacher.
    """
    given, by = study.govern, names(teachers(study))
    taught = {"mean": ("mean_ensemble", by), "lr": ("mean_ensemble", ["govern/lr-ensemble/seed-0"])}
    taught["govern"] = ("govern", by)
    found = _unlabelled(study, given.student, taught, given.unlabelled_fit, given.repeats(study), STUDENTS)
    if given.longer_fit:
        again = {name + LONGER: taught[name] for name in AGAIN}
        found += _unlabelled(study, given.student, again, given.longer_fit, given.repeats(study), STUDENTS)
    return found


def supervised(study: "Study") -> list[Run]:
    """Table 2, its last two rows: both continue from the student of "GOVERN on unlabelled data", with labels.

    Beyond it CA-MKD without its cross entropy, which GOVERN-CA has not either.
    """
    data, found = roles(study.data.target), []
    losses = {"ca-mkd": "ca_mkd", "govern-ca": "govern_ca", "ca-mkd-without-ce": "ca_mkd_without_ce"}
    for seed in study.govern.repeats(study):
        parents = {"start": [f"govern/govern/seed-{seed}"], "teachers": names(teachers(study))}
        for name, loss in losses.items():
            spec = {"loss": loss, **settings(study, study.govern.labelled_fit, {})}
            found.append(Run(f"govern/{name}/seed-{seed}", "fit", spec, data, seed, STUDENTS, parents))
    return found


def ablation(study: "Study") -> list[Run]:
    """Figure 2 and Table 4: teachers of one size on nine folds of ten, and students that hear 1 to 10 of them."""
    if (given := study.govern.ablation) is None:
        return []
    by = [f"{prefix}/seed-0" for prefix, system in systems(study).items() if system.kind == "fold"]
    worse, better = "govern/worse-teacher/seed-0", f"govern/teacher-{len(study.govern.teachers)}/seed-0"
    found = [_teacher(study, name, given.teacher, fold, ABLATION) for fold, name in enumerate(by)]
    found.append(_teacher(study, worse, given.worse or given.student, TABLE_4 - 1, ABLATION))
    # Up to ALIKE teachers the student of the mean serves both.
    taught = {f"mean-of-{n}": ("mean_ensemble", by[:n]) for n in given.teachers}
    taught |= {f"govern-of-{n}": ("govern", by[:n]) for n in sorted({*given.teachers, TABLE_4}) if n > ALIKE}
    taught["one-better"] = ("govern", [*by[: TABLE_4 - 1], better])
    taught["one-worse"] = ("govern", [*by[: TABLE_4 - 1], worse])
    return found + _unlabelled(study, given.student, taught, given.fit, study.govern.repeats(study), ABLATION)


def heads(study: "Study") -> list[Run]:
    """Beyond the paper: a head for each teacher, which learns from it alone, or from the vote of the others."""
    given, by = study.govern, names(teachers(study))
    if not given.ablation:
        return []
    taught = {f"heads-{name}": (f"{name}_a_head", by) for name in ("teacher", "govern")}
    shape = {"body": study.mhs.body, "heads": len(by), "combine": study.mhs.combine}
    return _unlabelled(study, given.student, taught, given.unlabelled_fit, study.grid_seeds, STUDENTS, mhs=shape)


def _teacher(study: "Study", name: str, encoder: Encoder, fold: int, group: str) -> Run:
    spec, data, parents = _start(study, encoder)
    spec |= {"loss": "ce", "leave_out": [fold, FOLDS], **settings(study, study.govern.teacher_fit, {})}
    return Run(name, "fit", spec, data | roles(study.data.target), 0, group, parents)


def _unlabelled(
    study: "Study", encoder: Encoder, taught: Taught, training: Training, seeds: list[int], group: str, **more: Any
) -> list[Run]:
    """Students of the unlabelled pool, one a seed and system."""
    start, data, parents = _start(study, encoder)
    splits = scored(study) if training.evaluate_every else {"test": study.data.target.test}
    data |= {"train": study.govern.unlabelled, **splits}
    found = []
    for seed in seeds:
        for name, (loss, by) in taught.items():
            spec = {**start, "loss": loss, "unlabelled": True, **more, **settings(study, training, {})}
            full = f"govern/{name}/seed-{seed}"
            found.append(Run(full, "fit", spec, data, seed, group, parents | {"teachers": by}))
    return found


def _start(study: "Study", encoder: Encoder) -> tuple[dict[str, Any], dict[str, list[str]], dict[str, list[str]]]:
    """The parts of spec, data and parents that say from which weights a fit starts."""
    if study.govern.start == "transfer":
        first = f"{TRANSFER}-{encoder.of}/seed-0" if study.govern.transfer else f"transfer/{encoder.of}/seed-0"
        return ({"layers": encoder.layers} if encoder.layers else {}), {}, {"start": [first]}
    return *_backbone(study, encoder), {}


def _backbone(study: "Study", encoder: Encoder) -> tuple[dict[str, Any], dict[str, list[str]]]:
    backbone = encoder.backbone(study)
    origin = backbone.model_dump(include={"name", "layers", "config"}, exclude_none=True)
    return {"backbone": origin}, {"vocabulary": vocabulary(study)} if backbone.config else {}
