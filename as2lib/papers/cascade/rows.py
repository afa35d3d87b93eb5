"""The systems of the Cascade Transformer paper: a cascade, models of one depth, and how a cascade can be trained."""

from dataclasses import replace
from typing import Any, NamedTuple

from as2lib.papers.row import baseline, best_trivial, fit, origin, planned, splits, transfer, with_changes
from as2lib.study import Study
from as2lib.study.params import Pairs, Training
from as2lib.study.run import Notebook, Row

PAPER_EXITS = (4, 6, 8, 10, 12)
SHORT = {"overlap_then_rank": "WO+RR", "word_overlap": "WO"}


class Scheme(NamedTuple):
    """A way to rank a question's candidates with the models of this paper.

    method: "MT", one model; "SR", models in sequence; "CT", the cascade.  layers: of the model, or of the exit that has
    the last word.  alpha: which share of the candidates each exit before it drops; None for MT, and where none is.
    """

    method: str
    layers: int
    alpha: float | None = None

    @property
    def label(self) -> str:
        if self.method == "MT":
            return f"one model of {self.layers} layer{'s' * (self.layers != 1)}"
        if self.method == "SR":
            return f"models in sequence, {self.alpha:.0%} dropped"
        if not self.alpha:
            return f"cascade, exit at layer {self.layers}"
        return f"cascade, {self.alpha:.0%} dropped"

    def runs(self, study: Study, where: str) -> list[str]:
        """The names of the systems that it is made from, on one of `sets`; of a sequence, the models in a row."""
        if self.method == "CT":
            return [f"cascade/{where}"]
        depths = [self.layers] if self.method == "MT" else [n for n in study.cascade.exits if n <= self.layers]
        return [f"monolith/{n}/{where}" for n in depths]


class Way(NamedTuple):
    """A way to train a cascade: the first part of its run's name, and what it changes of the fit."""

    name: str
    label: str
    changes: dict[str, Any]


WAYS = (  # sections 4.3 and 4.3.1
    Way("cascade", "as the paper: a random exit a step, gradient to the embeddings, mean of tokens", {}),
    Way("cascade-round_robin", "exits in turn", {"schedule": "round_robin"}),
    Way("cascade-early", "early exits more often at first", {"schedule": "early"}),
    Way("cascade-stopped", "gradient stopped at the previous exit", {"cascade": {"stop_gradient": True}}),
    Way("cascade-first", "first token instead of the mean", {"cascade": {"pooling": "first"}}),
    Way("cascade-longer", "as many updates of an exit as of a model of its depth", {}),
)
LONGER = WAYS[-1]  # a step draws one exit, which else learns as many times less often as there are exits


def systems(study: Study) -> list[Row]:
    """The cascade (CT), trained on the set with many candidates (Table 3), and adapted to the target and to others
    (Table 2); the other ways, one seed each, on the first set only, `LONGER` where the study's `rows` say so; and an
    independent model of each exit's depth, in the same steps: the rows MT, and the members of SR.
    """
    study = study.of("cascade")
    rows, exits = trivial(study), study.cascade.exits
    shape = {"cascade": {"exits": exits}}
    rows += on_every_set(study, "cascade", "cascade", exits[-1], shape)
    for way in ways(study)[1:]:
        changed = way.changes | {"cascade": {"exits": exits, **way.changes.get("cascade", {})}}
        first, seeds = first_step(study, study.wide, exits[-1], changed), (0,)
        if way is LONGER:
            training = first["spec"]["training"]
            times = {name: len(exits) * value for name, value in training.items() if name in ("steps", "epochs")}
            first["spec"]["training"], seeds = {**training, **times}, ()
        rows.append(Row(f"{way.name}/wide", f"cascade, {way.label}, wide set", "cascade", **first, seeds=seeds))
    for layers in exits:
        rows += on_every_set(study, f"monolith/{layers}", Scheme("MT", layers).label, layers, {})
    return planned(study, rows)


def notebooks(study: Study) -> list[Notebook]:
    read = (study.systems[baseline(study)], *systems(study))
    return [Notebook("08_cascade", "Can one encoder prune its own candidates?", read)]


def sets(study: Study) -> dict[str, Pairs]:
    """The sets by name: the one with many candidates, the target, and those of `cascade.targets`."""
    return {"wide": study.wide, "target": study.data.target, **study.cascade.targets}


def schemes(study: Study, where: str = "wide") -> list[Scheme]:
    """The rows of Table 3; of Table 2 on a target, where nothing is dropped."""
    exits, alphas = study.cascade.exits, study.cascade.alphas
    models = [Scheme("MT", layers) for layers in exits]
    if where != "wide":
        return models + [Scheme("CT", layers) for layers in exits]
    sequences, pruning = ([Scheme(method, exits[-1], alpha) for alpha in alphas] for method in ("SR", "CT"))
    return [*models, *sequences, *(Scheme("CT", layers, 0.0) for layers in exits), *pruning]


def ways(study: Study) -> tuple[Way, ...]:
    """The paper's way first, then those that may be tried beside it."""
    return WAYS if study.cascade.ablations else WAYS[:1]


def trivial(study: Study) -> list[Row]:
    """The trivial baseline on the set with many candidates and on each further target."""
    rows = []
    for where, pairs in {"wide": study.wide, **study.cascade.targets}.items():
        scorer, data = best_trivial(pairs), splits(pairs.model_copy(update={"train": []}))
        name, label = trivial_on(study, where), f"{SHORT[scorer]} on {where}"
        rows.append(Row(name, label, "trivial", "lexical", {"scorer": scorer}, data, seeds=(0,)))
    return rows


def trivial_on(study: Study, where: str) -> str:
    """The system of the trivial baseline on one of `sets`."""
    return f"{'lexical' if where == 'target' else where}/{best_trivial(sets(study)[where])}"


def on_every_set(study: Study, name: str, label: str, depth: int, shape: dict[str, Any]) -> list[Row]:
    """A system on the wide set, on the target, and, one seed, on each further set; these start from the wide set where
    the section has a `fit` of its own, else from the transfer set.
    """
    seeds = tuple(study.cascade.seeds or study.seeds)
    first = first_step(study, study.wide, depth, shape, ratios="cascade" in shape)
    wide = Row(f"{name}/wide", f"{label}, wide set", "cascade", **first, seeds=seeds)
    start = replace(wide, seeds=(0,))
    if not study.cascade.fit:
        first = first_step(study, study.data.transfer, depth, shape)
        start = Row(f"{name}/transfer", "", "cascade", **first, seeds=(0,))
    rows, training = [wide], learning(study, "adapt")
    for where, pairs in {"target": study.data.target, **study.cascade.targets}.items():
        title, of = (label, seeds) if where == "target" else (f"{label}, {where}", seeds[:1])
        adapted = fit(study, start, data=with_dev(pairs, training.evaluate_every), training=training, **shape)
        rows.append(Row(f"{name}/{where}", title, "cascade", **adapted, seeds=of))
    return rows


def first_step(study: Study, pairs: Pairs, depth: int, shape: dict[str, Any], ratios: bool = False) -> dict[str, Any]:
    """A fit from the first layers of an encoder.  ratios: whether drop ratios are chosen on dev."""
    encoder, start = study.encoder(study.cascade.encoder), None
    if encoder.config is None:
        first = origin(encoder.model_copy(update={"layers": depth}))
        if "cascade" in shape:
            first.pop("reads", None)  # its exits read as the paper's do
    else:
        first, start = {"layers": depth}, transfer(study, study.cascade.encoder)
    training = learning(study, "transfer")
    data = with_dev(pairs, training.evaluate_every or ratios)
    return fit(study, start, data=data, training=training, **first, **shape)


def learning(study: Study, step: str) -> Training:
    """How long a step, "transfer" or "adapt", learns: as `cascade.fit` says, else as the encoder's other fits do."""
    if study.cascade.fit:
        return getattr(study.cascade.fit, step)
    encoder = study.encoder(study.cascade.encoder)
    return with_changes(getattr(study.fit, step), getattr(encoder, f"{step}_fit"))


def with_dev(pairs: Pairs, chosen: Any) -> dict[str, tuple[str, ...]]:
    """A pair set as a run's data, with dev only where something is chosen on it."""
    return splits(pairs if chosen else pairs.model_copy(update={"dev": []}))
