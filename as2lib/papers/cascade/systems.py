"""The systems of the Cascade Transformer paper: a cascade, models of one depth, and how a cascade can be trained."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from as2lib.papers.building import best_trivial, budget, computing, splits, transferred
from as2lib.study.run import Notebook, Run, System

if TYPE_CHECKING:
    from as2lib.study import Study
    from as2lib.study.params import Pairs

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

    def runs(self, study: "Study", where: str) -> list[str]:
        """The names of the systems that it is made from, on one of `sets`; of a sequence, the models in a row."""
        if self.method == "CT":
            return [f"cascade/{where}"]
        depths = [self.layers] if self.method == "MT" else [n for n in study.cascade.exits if n <= self.layers]
        return [f"monolith/{n}/{where}" for n in depths]


class Recipe(NamedTuple):
    """A way to train a cascade: its system's first name, its label, what it changes of the spec and of the cascade."""

    name: str
    label: str
    spec: dict[str, Any]
    shape: dict[str, Any]


RECIPES = (  # sections 4.3 and 4.3.1
    Recipe("cascade", "as the paper: a random exit a step, gradient to the embeddings, mean of tokens", {}, {}),
    Recipe("cascade-round_robin", "exits in turn", {"schedule": "round_robin"}, {}),
    Recipe("cascade-early", "early exits more often at first", {"schedule": "early"}, {}),
    Recipe("cascade-stopped", "gradient stopped at the previous exit", {}, {"stop_gradient": True}),
    Recipe("cascade-first", "first token instead of the mean", {}, {"pooling": "first"}),
)


def systems(study: "Study") -> list[System]:
    """Every system of this paper; none where the study has no section for it."""
    if study.cascade is None:
        return []
    return [*trivial(study), *cascades(study), *monoliths(study)]


def notebooks(study: "Study") -> list[Notebook]:
    if study.cascade is None:
        return []
    question = "Can one encoder prune its own candidates?"
    reproduces = "Cascade Transformer, Tables 1 to 3 and Figure 2"
    read = (study.systems[trivial_on(study, "target")], *systems(study))
    return [Notebook("08_cascade", question, reproduces, read)]


def sets(study: "Study") -> dict[str, "Pairs"]:
    """The sets by name: the one with many candidates, the target, and those of `cascade.targets`."""
    return {"wide": study.wide, "target": study.data.target, **study.cascade.targets}


def schemes(study: "Study", where: str = "wide") -> list[Scheme]:
    """The rows of Table 3; of Table 2 on a target, where nothing is dropped."""
    exits, alphas = study.cascade.exits, study.cascade.alphas
    models = [Scheme("MT", layers) for layers in exits]
    if where != "wide":
        return models + [Scheme("CT", layers) for layers in exits]
    ends = [Scheme("CT", layers, 0.0) for layers in exits]
    sequences = [Scheme("SR", exits[-1], alpha) for alpha in alphas]
    pruning = [Scheme("CT", exits[-1], alpha) for alpha in alphas]
    return [*models, *sequences, *ends, *pruning]


def trivial(study: "Study") -> list[System]:
    """The trivial baseline on the set with many candidates and on each further target."""
    return [
        System(trivial_on(study, where), f"{SHORT[best_trivial(pairs)]} on {where}", "trivial", make)
        for where, pairs in sets(study).items()
        if where != "target"
        for make in [partial(_trivial, trivial_on(study, where), pairs)]
    ]


def trivial_on(study: "Study", where: str) -> str:
    """The system of the trivial baseline on one of `sets`: plain word overlap where the set's order means nothing."""
    return f"{'lexical' if where == 'target' else where}/{best_trivial(sets(study)[where])}"


def _trivial(name: str, pairs: "Pairs", seed: int) -> Run:
    data = splits(pairs.model_copy(update={"train": []}))
    return Run(name, "lexical", {"scorer": best_trivial(pairs)}, data, seed, "lexical")


def recipes(study: "Study") -> tuple[Recipe, ...]:
    """The paper's way first, then those that the study tries beside it."""
    return RECIPES if study.cascade.ablations else RECIPES[:1]


def cascades(study: "Study") -> list[System]:
    """CT, trained on the set with many candidates (Table 3), then adapted to the target and to others (Table 2).

    The other recipes, one seed each, are trained on the first set only.
    """
    rows = []
    for recipe in recipes(study):
        shape = {"cascade": {"exits": study.cascade.exits, **recipe.shape}, **recipe.spec}
        adapts = recipe.name == "cascade"
        label = "cascade" if adapts else f"cascade, {recipe.label}"
        seeds = _seeds(study) if adapts else ()
        rows += _steps(study, recipe.name, label, shape, study.cascade.exits[-1], seeds)
    return rows


def monoliths(study: "Study") -> list[System]:
    """An independent model of each exit's depth, in the same two steps: the rows MT, and the members of SR.

    The full depth, what all is compared with, has every seed.  One of `mean` is a cascade of a single exit.
    """
    rows = []
    for depth in study.cascade.exits:
        shape = {"cascade": {"exits": [depth]}} if depth in study.cascade.mean else {}
        seeds = _seeds(study) if depth == study.cascade.exits[-1] else tuple(study.grid_seeds)
        rows += _steps(study, f"monolith/{depth}", Scheme("MT", depth).label, shape, depth, seeds)
    return rows


def _seeds(study: "Study") -> tuple[int, ...]:
    return tuple(study.cascade.seeds or study.seeds)


def _steps(
    study: "Study", name: str, label: str, shape: dict[str, Any], depth: int, seeds: tuple[int, ...]
) -> list[System]:
    """A system on the wide set, and where there are `seeds` one on the target with them and on each further set."""
    make = partial(first_step, study, name, shape, depth, "wide")
    rows = [System(f"{name}/wide", f"{label}, wide set", "cascade", make)]
    if not seeds:
        return rows
    make = partial(second_step, study, name, shape, depth, "target", study.data.target)
    rows.append(System(f"{name}/target", label, "cascade", make, seeds))
    for where, pairs in study.cascade.targets.items():
        make = partial(second_step, study, name, shape, depth, where, pairs)
        rows.append(System(f"{name}/{where}", f"{label}, {where}", "cascade", make, seeds[:1]))
    return rows


def first_step(study: "Study", name: str, shape: dict[str, Any], depth: int, where: str, seed: int = 0) -> Run:
    """A fit from the first layers of a pretrained encoder, or of the one after the transfer step.

    where: what it learns, the "wide" set or the study's "transfer" set.
    """
    settings = study.cascade
    backbone = study.encoder(settings.encoder)
    start, parents = {"backbone": {"name": backbone.name, "layers": depth}}, {}
    if backbone.config is not None:
        start, parents = {"layers": depth}, {"start": (transferred(study, settings.encoder),)}
    spec = {**start, "loss": "ce", **shape, **_learning(study, name, "transfer", where)}
    pairs = study.wide if where == "wide" else study.data.transfer
    ratios = name == "cascade" and where == "wide"  # they are chosen on dev
    data = _data(pairs, spec["training"].get("evaluate_every") or ratios)
    precision = _precision(study, where)
    return Run(f"{name}/{where}/seed-{seed}", "fit", spec, data, seed, "cascade", parents, precision)


def second_step(
    study: "Study", name: str, shape: dict[str, Any], depth: int, where: str, pairs: "Pairs", seed: int
) -> Run:
    """The fit that follows, on the target or a further set."""
    first = "wide" if study.cascade.fit else "transfer"
    spec = {"loss": "ce", **shape, **_learning(study, name, "adapt")}
    parents = {"start": (first_step(study, name, shape, depth, first),)}
    data = _data(pairs, spec["training"].get("evaluate_every"))
    return Run(f"{name}/{where}/seed-{seed}", "fit", spec, data, seed, "cascade", parents, _precision(study, first))


def _learning(study: "Study", name: str, step: str, where: str = "transfer") -> dict[str, Any]:
    """How long a step learns: as `cascade.fit` says, else as the study's other models do.

    A cascade has `joint` times the steps of those (on the "wide" set `wide_joint`), and as much more patience.
    """
    settings = study.cascade
    if settings.fit:
        joint = name.startswith("cascade") and step == "transfer" and settings.fit.joint
        return budget(study, joint or getattr(settings.fit, step))
    training = getattr(study.fit, step)
    joint = (where == "wide" and settings.wide_joint) or settings.joint
    times = joint if name.startswith("cascade") else 1
    length = "steps" if training.steps else "epochs"
    longer = {name: times * getattr(training, name) for name in (length, "patience")}
    return {**budget(study, training, longer), **computing(study)}


def _precision(study: "Study", first: str) -> str | None:
    """The section's own on the wide set, and on what follows on it; else the study's."""
    return study.cascade.precision if first == "wide" else None


def _data(pairs: "Pairs", dev: Any) -> dict[str, tuple[str, ...]]:
    """Dev only where something is chosen on it."""
    return splits(pairs if dev else pairs.model_copy(update={"dev": []}))
