"""The systems of the Cascade Transformer paper: a cascade, models of one depth, and how a cascade can be trained."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from as2lib.papers.building import best_trivial, budget, classifier, computing, origin, splits, transferred
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
    """CT, trained on the set with many candidates (Table 3), and adapted to the target and to others (Table 2).

    The other recipes, one seed each, are trained on the first set only.
    """
    rows, depth = [], study.cascade.exits[-1]
    for recipe in recipes(study):
        shape = {"cascade": {"exits": study.cascade.exits, **recipe.shape}, **recipe.spec}
        if recipe.name == "cascade":
            rows += _on_every_set(study, recipe.name, "cascade", shape, depth)
        else:
            make = partial(first_step, study, recipe.name, shape, depth, "wide")
            rows.append(System(f"{recipe.name}/wide", f"cascade, {recipe.label}, wide set", "cascade", make))
    return rows


def monoliths(study: "Study") -> list[System]:
    """An independent model of each exit's depth, in the same steps: the rows MT, and the members of SR.

    It reads what all models of the study read.  That of all layers is, without `cascade.fit`, the run of a teacher.
    """
    rows = []
    for depth in study.cascade.exits:
        rows += _on_every_set(study, f"monolith/{depth}", Scheme("MT", depth).label, {}, depth)
    return rows


def _on_every_set(study: "Study", name: str, label: str, shape: dict[str, Any], depth: int) -> list[System]:
    """A system on the wide set, on the target, and, one seed, on each further set."""
    seeds = tuple(study.cascade.seeds or study.seeds)
    make = partial(first_step, study, name, shape, depth, "wide")
    rows = [System(f"{name}/wide", f"{label}, wide set", "cascade", make, seeds)]
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
    backbone, parents = study.encoder(settings.encoder), {}
    if backbone.config is None:
        start = origin(backbone.model_copy(update={"layers": depth}))
    else:
        start, parents = {"layers": depth}, {"start": (transferred(study, settings.encoder),)}
    spec = {**start, "loss": "ce", **shape, **_learning(study, "transfer")}
    pairs = study.wide if where == "wide" else study.data.transfer
    ratios = name == "cascade" and where == "wide"  # they are chosen on dev
    data = _data(pairs, spec["training"].get("evaluate_every") or ratios)
    return Run(f"{name}/{where}/seed-{seed}", "fit", spec, data, seed, "cascade", parents)


def second_step(
    study: "Study", name: str, shape: dict[str, Any], depth: int, where: str, pairs: "Pairs", seed: int
) -> Run:
    """The fit that follows, on the target or a further set."""
    backbone = study.encoder(study.cascade.encoder).model_copy(update={"layers": depth})
    first = first_step(study, name, shape, depth, "wide" if study.cascade.fit else "transfer")
    spec = {"loss": "ce", **classifier(backbone), **shape, **_learning(study, "adapt")}
    data = _data(pairs, spec["training"].get("evaluate_every"))
    return Run(f"{name}/{where}/seed-{seed}", "fit", spec, data, seed, "cascade", {"start": (first,)})


def _learning(study: "Study", step: str) -> dict[str, Any]:
    """How long a step, "transfer" or "adapt", learns: as `cascade.fit` says, else as the encoder's other fits do."""
    if study.cascade.fit:
        return {**budget(study, getattr(study.cascade.fit, step)), **computing(study)}
    changes = getattr(study.encoder(study.cascade.encoder), f"{step}_fit")
    return {**budget(study, getattr(study.fit, step), changes), **computing(study)}


def _data(pairs: "Pairs", dev: Any) -> dict[str, tuple[str, ...]]:
    """Dev only where something is chosen on it."""
    return splits(pairs if dev else pairs.model_copy(update={"dev": []}))
