"""What rows of the papers' tables have in common: `fit`, and what it is given."""

from collections.abc import Iterable
from typing import Any

from as2lib.data import sets
from as2lib.fit import objectives
from as2lib.study import Study
from as2lib.study.params import Backbone, Pairs, Teacher, Training
from as2lib.study.run import Row

LOSS_OF = {"pointwise": "ce", "listwise": "listwise_kl", "pairwise": "ranknet"}  # a teacher's objective → its loss


def planned(study: Study, rows: Iterable[Row]) -> list[Row]:
    """Rows as a study runs them, with the seeds that it gives them."""
    return [row.of(study) for row in rows]


def fit(
    study: Study,
    start: str | Row | None = None,
    loss: str = "ce",
    teachers: Any = (),
    data: dict[str, tuple[str, ...]] | None = None,
    training: Training | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A row's fields of a fit as a study makes it: kind, spec, data, parents.

    start: one of the study's encoders by its key, after the transfer step where there is one; a row whose weights it
        continues; or None, where `spec` says it.
    teachers: `run.Parent`s, or a function of the seed.  A system's run has the row's seed, or that system's first.
    data: default: the target set.  training: default: the study's `fit.adapt`, as the encoder `start` changes it.
    spec: what else `run.Scorer` names.
    """
    parents = {}
    if objectives.declared(loss).balanced:
        spec = study.distillation.model_dump() | calibration(study) | spec
    if isinstance(start, Row):
        parents["start"] = going_on(study, start)
    elif start is not None:
        encoder = study.encoder(start)
        training = training or with_changes(study.fit.adapt, encoder.adapt_fit)
        if study.data.transfer is None:
            spec = origin(encoder) | spec
        else:
            parents["start"] = going_on(study, transfer(study, start))
    if teachers:
        parents["teachers"] = teachers
    if "words" not in spec:
        computing = study.fit.model_dump(include={"dropout", "attention"}, exclude_defaults=True)
        spec |= {"max_length": study.data.max_length, **computing}
    data = dict(data or splits(study.data.target))
    if "config" in spec.get("backbone", {}):
        first = study.data.transfer.train if study.data.transfer else []  # whose words are those of the study's texts
        data["vocabulary"] = tuple(dict.fromkeys([*first, *study.data.target.train]))  # each part once
    budget = (training or study.fit.adapt).model_dump(exclude_none=True)
    return {"kind": "fit", "spec": {"loss": loss, "training": budget, **spec}, "data": data, "parents": parents}


def with_heads(study: Study, heads: int, depth: int = 1, perturb: bool = False, **settings: Any) -> dict[str, Any]:
    """A student with heads, each `depth` layers deep, on a body of the others.

    perturb: whether they start with a little noise between them, as heads that learn the same would stay the same.
    """
    shape = {"body": settings.get("layers", study.mhs.body + 1) - depth, "heads": heads, "combine": study.mhs.combine}
    shape |= {"perturb": study.mhs.perturb} if perturb else {}
    return fit(study, mhs=shape, **settings)


def going_on(study: Study, start: Row) -> Any:
    """A fit's parent, whose weights it continues: that of its own seed where each seed repeats the transfer step."""
    return (lambda seed: ((start, seed),)) if study.fit.repeats == "transfer" else (start,)


def ensemble(study: Study, members: Iterable[str], combine: str = "mean", **spec: Any) -> dict[str, Any]:
    """A row's fields of the scores of some systems combined."""
    return as_it_is(study, "ensemble", combine=combine, **spec) | {"parents": {"members": tuple(members)}}


def as_it_is(study: Study, kind: str, **spec: Any) -> dict[str, Any]:
    """A row's fields of what is no fit: "lexical", a "ranker" of others, an "ensemble"."""
    return {"kind": kind, "spec": spec, "data": scored(study)}


def transfer(study: Study, encoder: str) -> Row:
    """The first step of transfer-then-adapt (TANDA): an encoder fine-tuned on the transfer set."""
    backbone = study.encoder(encoder)
    training = with_changes(study.fit.transfer, backbone.transfer_fit)
    first = fit(study, data=splits(study.data.transfer), training=training, **origin(backbone))
    return Row(f"transfer/{encoder}", f"transfer/{encoder}", "transfer", **first, seeds=(0,))


def objective(teacher: Teacher) -> dict[str, Any]:
    """How a teacher's adapt step learns: `loss`, and a `unit` where its batches hold whole questions."""
    loss = LOSS_OF[teacher.objective]
    return {"loss": loss} if loss == "ce" else {"loss": loss, "unit": "question"}


def calibration(study: Study) -> dict[str, Any]:
    """Teachers that only order candidates are calibrated before they teach."""
    pointwise = all(teacher.objective == "pointwise" for teacher in study.teachers.values())
    return {} if pointwise else {"calibration": "platt"}


def origin(backbone: Backbone) -> dict[str, Any]:
    """The model before its first step, and what its classifier reads where that is not the first token."""
    fields = backbone.model_dump(include={"name", "layers", "config"}, exclude_none=True)
    return {"backbone": fields, **backbone.model_dump(include={"reads"}, exclude_defaults=True)}


def with_changes(training: Training, changes: dict[str, Any]) -> Training:
    return type(training)(**training.model_dump(exclude_none=True) | changes)


def splits(pairs: Pairs) -> dict[str, tuple[str, ...]]:
    """A pair set as a run's data: role → parts, of the splits that it has."""
    return {role: tuple(parts) for role, parts in pairs.model_dump().items() if parts}


def of_own_target(study: Study) -> bool:
    """Whether a study's target is a set of one's own, or the invented one, of which no paper says anything."""
    names = [sets.split_part(part)[0] for part in study.data.target.test]
    return not any(sets.is_known(name) and not name.startswith("sample") for name in names)


def scored(study: Study) -> dict[str, tuple[str, ...]]:
    """What a run that trains nothing is scored on: the target's dev and test."""
    return {"dev": tuple(study.data.target.dev), "test": tuple(study.data.target.test)}


def best_trivial(pairs: Pairs) -> str:
    """The scorer of the best ranker that learns nothing: it reads the candidates' order where that means something."""
    parts = [*pairs.dev, *pairs.test]
    return "overlap_then_rank" if all(map(sets.order_means_something, parts)) else "word_overlap"


def baseline(study: Study) -> str:
    """The trivial baseline on the target, by the name of its run."""
    return f"lexical/{best_trivial(study.data.target)}"
