"""What a row of a paper's table is, and the one way in which its runs are made: `make_run(study, row, seed)`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from as2lib.data import sets
from as2lib.fit import objectives
from as2lib.study import Study
from as2lib.study.params import Backbone, Pairs, Teacher, Training
from as2lib.study.run import Run, System

LOSS_OF = {"pointwise": "ce", "listwise": "listwise_kl", "pairwise": "ranknet"}  # a teacher's objective → its loss
Parent = "str | Row | tuple[str | Row, int]"


@dataclass(frozen=True)
class Row:
    """A row of a paper's table: what a person calls it, and what makes its runs.

    kind: "fit"; "lexical" (`spec` names the scorer); "ensemble" of `members`; "shuffled", its `members` one model.
    start: of a fit: one of the study's encoders by its key, after the transfer step where there is one; a row whose
        weights it continues; or None, where `spec` says it.
    heads: how many, of `layers` each, on a body of the other layers.  perturb: whether they start with a little noise
        between them, as heads that learn the same would stay the same.
    spec: what else is asked of it.  data: default: the target set.  training: default: the study's `fit.adapt`.

    A parent (start, teachers, members) is the name of a system, or a row; with a seed of its own in a tuple, else of
    the row's seed where it has that, or of its first.  Where the row's seed decides, `teachers` is a function of it.
    """

    run: str
    label: str
    group: str
    kind: str = "fit"
    start: "str | Row | None" = None
    loss: str = "ce"
    teachers: "tuple[Parent, ...] | Callable[[int], tuple[Parent, ...]]" = ()
    members: tuple[Parent, ...] = ()
    heads: int = 0
    layers: int = 1
    perturb: bool = False
    spec: Mapping[str, Any] = field(default_factory=dict)
    data: "Mapping[str, tuple[str, ...]] | None" = None
    training: Training | None = None
    seeds: tuple[int, ...] | None = None


def systems(study: Study, rows: Iterable[Row]) -> list[System]:
    """Rows as a study runs them: with the seeds that its `rows` gives them; `[]`: not run."""
    systems = []
    for row in rows:
        seeds = study.rows.get(row.run, study.seeds if row.seeds is None else row.seeds)
        systems.append(System(row.run, row.label, row.group, partial(make_run, study, row), tuple(seeds)))
    return systems


def make_run(study: Study, row: Row, seed: int) -> Run:
    """The run of a row and a seed, with all that it is made from."""
    if row.kind == "lexical":
        return Run(row.run, row.kind, dict(row.spec), dict(row.data or scored(study)), 0)
    if row.kind == "fit":
        return _fit(study, row, seed)
    members, spec = _parents(study, row.members, seed), dict(row.spec)
    if row.kind == "ensemble" and any(member.spec.get("unit") == "question" for member in members):
        spec["calibration"] = "platt"  # of members whose scores only order candidates
    parents = {"members" if row.kind == "ensemble" else "model": members}
    return Run(f"{row.run}/seed-{seed}", row.kind, spec, dict(row.data or scored(study)), seed, parents)


def _fit(study: Study, row: Row, seed: int) -> Run:
    spec, training, pairs = {"loss": row.loss}, row.training or study.fit.adapt, study.data.target
    parents: dict[str, tuple[Run, ...]] = {}
    if objectives.is_balanced(row.loss):
        spec |= distillation(study)
    if row.heads:
        body = study.mhs.body + 1 - row.layers
        spec["mhs"] = {"body": body, "heads": row.heads, "combine": study.mhs.combine}
        if row.perturb:
            spec["mhs"]["perturb"] = study.mhs.perturb
    if isinstance(row.start, Row):
        parents["start"] = _parents(study, [row.start], seed)
    elif row.start is not None:
        encoder = study.encoder(row.start)
        pairs = target_of(study, encoder)
        if study.data.transfer is None:
            spec |= origin(encoder)
        else:
            parents["start"] = (make_run(study, transfer(study, row.start), 0),)
    if row.teachers:
        teachers = row.teachers(seed) if callable(row.teachers) else row.teachers
        parents["teachers"] = _parents(study, teachers, seed)
    spec = {**spec, **row.spec, "training": training.model_dump(exclude_none=True)}
    data = dict(row.data or splits(pairs))
    if "words" not in spec:
        computing = study.fit.model_dump(include={"dropout", "attention"}, exclude_none=True)
        spec |= {"max_length": study.data.max_length, **{name: v for name, v in computing.items() if v != "sdpa"}}
    if "config" in spec.get("backbone", {}) or spec.get("words", {}).get("vectors", {}).get("source") == "ppmi":
        first = study.data.transfer.train if study.data.transfer else []
        data["vocabulary"] = tuple(dict.fromkeys([*first, *study.data.target.train]))  # each part once
    return Run(f"{row.run}/seed-{seed}", "fit", spec, data, seed, parents)


def _parents(study: Study, parents: Iterable[Parent], seed: int) -> tuple[Run, ...]:
    runs = []
    for parent in parents:
        parent, of_seed = parent if isinstance(parent, tuple) else (parent, None)
        [system] = systems(study, [parent]) if isinstance(parent, Row) else [study.systems[parent]]
        if of_seed is None:
            of_seed = seed if seed in system.seeds or not system.seeds else system.seeds[0]
        runs.append(system.make(of_seed))
    return tuple(runs)


def transfer(study: Study, encoder: str) -> Row:
    """The first step of transfer-then-adapt (TANDA): an encoder fine-tuned on the transfer set, one seed."""
    backbone, data = study.encoder(encoder), splits(study.data.transfer)
    training = with_changes(study.fit.transfer, backbone.transfer_fit)
    name = f"transfer/{encoder}"
    return Row(name, name, "transfer", spec=origin(backbone), data=data, training=training, seeds=(0,))


def objective(teacher: Teacher) -> dict[str, Any]:
    """How a teacher's adapt step learns: `loss`, and a `spec` where its batches hold whole questions."""
    loss = LOSS_OF[teacher.objective]
    return {"loss": loss} if loss == "ce" else {"loss": loss, "spec": {"unit": "question"}}


def distillation(study: Study) -> dict[str, Any]:
    """The balance of labels and teachers, and the temperature; teachers that only order candidates are calibrated."""
    pointwise = all(teacher.objective == "pointwise" for teacher in study.teachers.values())
    return study.distillation.model_dump() | ({} if pointwise else {"calibration": "platt"})


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
    """Whether a study's target is a set of one's own, of which no paper says anything."""
    return not any(sets.is_known(sets.split_part(part)[0]) for part in study.data.target.test)


def target_of(study: Study, backbone: Backbone) -> Pairs:
    """The target set, with what this encoder learns it from."""
    return study.data.target.model_copy(update={"train": backbone.train}) if backbone.train else study.data.target


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
