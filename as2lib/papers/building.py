"""What every paper's systems are made of: how a run is described, as plain values and the runs before it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from as2lib.data import sets
from as2lib.study.run import OF_TRAINING, Run, settled

if TYPE_CHECKING:
    from as2lib.study.params import Backbone, Pairs, Teacher, Training
    from as2lib.study.study import Study

LOSSES = {"pointwise": "ce", "listwise": "listwise_kl", "pairwise": "ranknet"}  # a teacher's objective → its loss


def splits(pairs: "Pairs") -> dict[str, tuple[str, ...]]:
    """A pair set as a run's data: role → parts, of the splits that it has."""
    return {role: tuple(parts) for role, parts in pairs.model_dump().items() if parts}


def target_of(study: "Study", backbone: "Backbone") -> "Pairs":
    """The target set, with what this encoder learns it from."""
    return study.data.target.model_copy(update={"train": backbone.train}) if backbone.train else study.data.target


def scored(study: "Study") -> dict[str, tuple[str, ...]]:
    """What a run that trains nothing is scored on: the target's dev and test."""
    return {"dev": tuple(study.data.target.dev), "test": tuple(study.data.target.test)}


def vocabulary(study: "Study") -> tuple[str, ...]:
    """The parts whose words an encoder that starts from nothing, or vectors made of text, know: each once."""
    first = study.data.transfer.train if study.data.transfer else []
    return tuple(dict.fromkeys([*first, *study.data.target.train]))


def budget(study: "Study", training: "Training", changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a spec says of a fit's length: pairs' tokens, and the training with `changes` put over it."""
    merged = training.model_dump(exclude_none=True) | (changes or {})
    return {"max_length": study.data.max_length, "training": type(training)(**merged).model_dump(exclude_none=True)}


def computing(study: "Study") -> dict[str, Any]:
    """What a spec says of how an encoder's fit computes, where the study says other than the default."""
    settings = study.fit.model_dump(include={"dropout", "attention"}, exclude_none=True)
    return {name: value for name, value in settings.items() if value != "sdpa"}


def origin(backbone: "Backbone") -> dict[str, Any]:
    """What a spec says of the model before its first step."""
    fields = backbone.model_dump(include={"name", "layers", "config"}, exclude_none=True)
    return {"backbone": fields, **classifier(backbone)}


def classifier(backbone: "Backbone") -> dict[str, Any]:
    """What a spec says of what the encoder's classifier reads, where not the first token."""
    return {"reads": "mean"} if backbone.pooling == "mean" else {}


def adapting(teacher: "Teacher") -> dict[str, Any]:
    """The loss of a teacher's adapt step, and whether its batches hold pairs or whole questions."""
    loss = {"loss": LOSSES[teacher.objective]}
    return loss if teacher.objective == "pointwise" else {**loss, "unit": "question"}


def distilling(study: "Study", loss: str) -> dict[str, Any]:
    """A distillation loss with the study's balance of labels and teachers, and its temperature.

    Teachers whose scores only order candidates are calibrated on dev before they teach.
    """
    objective = {"loss": loss, **study.distillation.model_dump()}
    if any(teacher.objective != "pointwise" for teacher in study.teachers.values()):
        objective["calibration"] = "platt"
    return objective


def from_encoder(
    study: "Study",
    name: str,
    encoder: str,
    training: "Training",
    onto: str,
    group: str,
    seed: int = 0,
    objective: dict[str, Any] | None = None,
    teachers: Sequence[Run] = (),
) -> Run:
    """A fit that starts from a pretrained encoder, or from nothing, on the "transfer" or the "target" set.

    encoder: its key in `study.encoders`.  objective: the loss and its settings; default: cross entropy.
    """
    backbone = study.encoder(encoder)
    pairs = study.data.transfer if onto == "transfer" else target_of(study, backbone)
    changes = backbone.transfer_fit if onto == "transfer" else backbone.adapt_fit
    data = splits(pairs)
    if backbone.config is not None:
        data["vocabulary"] = vocabulary(study)
    spec = {**origin(backbone), **(objective or {"loss": "ce"}), **budget(study, training, changes), **computing(study)}
    return Run(name, "fit", spec, data, seed, group, {"teachers": tuple(teachers)} if teachers else {})


def transferred(study: "Study", encoder: str, seed: int = 0) -> Run:
    """The first step of transfer-then-adapt (TANDA): an encoder fine-tuned on the transfer set."""
    system = f"transfer/{encoder}"

    def make(seed: int) -> Run:
        name = f"{system}/seed-{seed}"
        return from_encoder(study, name, encoder, study.fit.transfer, "transfer", "transfer", seed)

    return with_search(study, system, make, seed)


def adapted(
    study: "Study",
    system: str,
    encoder: str,
    objective: dict[str, Any],
    seed: int,
    group: str,
    teachers: Iterable[Run] = (),
) -> Run:
    """The second step, on the target set, of an encoder after the transfer step; the only one where there is none."""
    teachers, name = tuple(teachers), f"{system}/seed-{seed}"
    if study.data.transfer is None:
        return from_encoder(study, name, encoder, study.fit.adapt, "target", group, seed, objective, teachers)
    backbone = study.encoder(encoder)
    spec = {
        **objective,
        **classifier(backbone),
        **budget(study, study.fit.adapt, backbone.adapt_fit),
        **computing(study),
    }
    parents = {"start": (transferred(study, encoder),)}
    if teachers:
        parents["teachers"] = teachers
    return Run(name, "fit", spec, splits(target_of(study, backbone)), seed, group, parents)


def with_search(study: "Study", system: str, make: Callable[[int], Run], seed: int, first: int = 0) -> Run:
    """A system's run of a seed, with the search for its settings before it where the study's `grid` has points for it.

    make: seed → the run.  first: of the system's seeds: `select/<system>` picks on dev among `grid/<system>/0`,
    `grid/<system>/1`, …, which are that seed's run at each point, and every seed takes the settings that it picks.
    A run is described once a study, as it may be the parent of hundreds.  Source of the search: CERBERUS, appendix D.
    """
    described = vars(study).setdefault("described", {})
    name = f"{system}/seed-{seed}"
    if name not in described:
        run = make(seed)
        if search := settings_of(study, system, run if seed == first else make(first)):
            run = replace(run, parents={**run.parents, "settings": (search,)})
        described[name] = run
    return described[name]


def settings_of(study: "Study", system: str, first: Run) -> Run | None:
    """The run that picks a system's settings on dev; None where there is nothing to choose."""
    described = vars(study).setdefault("described", {})
    name = f"select/{system}"
    if name not in described:
        grid = {key: values for key, values in study.grid.model_dump().items() if values}
        keys = [key for key in grid if key in first.spec or key in OF_TRAINING]
        points = [dict(zip(keys, values, strict=True)) for values in product(*(grid[key] for key in keys))]
        if len(points) < 2 or "dev" not in first.data:
            return None
        trials = tuple(
            replace(first, name=f"grid/{system}/{i}", spec=settled(first.spec, point)) for i, point in enumerate(points)
        )
        described[name] = Run(name, "select", {"points": points}, {}, 0, first.group, {"members": trials})
    return described[name]


def combined(
    study: "Study", system: str, members: Sequence[Run], seed: int, group: str, spec: dict[str, Any] | None = None
) -> Run:
    """An ensemble of runs: of weights tuned on dev, or as `spec` says ({"combine": "mean"}).

    Members whose scores only order candidates are calibrated on dev first.
    """
    spec = spec or {"combine": "weighted", "trials": study.ensemble.trials}
    if any(member.spec.get("unit") == "question" for member in members):
        spec = {**spec, "calibration": "platt"}
    return Run(f"{system}/seed-{seed}", "ensemble", spec, scored(study), seed, group, {"members": tuple(members)})


def best_trivial(pairs: "Pairs") -> str:
    """The scorer of the best ranker that learns nothing: ties of word overlap are broken by the candidates' order.

    Plain word overlap where the order of a set means nothing, or gives the labels away.
    """
    parts = [*pairs.dev, *pairs.test]
    return "overlap_then_rank" if all(map(sets.order_means_something, parts)) else "word_overlap"


def baseline(study: "Study") -> str:
    """The system that learns nothing: CERBERUS's trivial baseline."""
    return f"lexical/{best_trivial(study.data.target)}"


def lexical(study: "Study", scorer: str) -> Run:
    """A ranker that is not trained, such as "overlap_then_rank" (Cosinet, section 2.1)."""
    return Run(f"lexical/{scorer}", "lexical", {"scorer": scorer}, scored(study), 0, "lexical")
