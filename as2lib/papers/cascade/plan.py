"""The runs of the Cascade Transformer paper: the cascade, trained in several ways, and models of each exit's depth."""

from typing import TYPE_CHECKING, Any

from as2lib.papers.cascade.systems import recipes, sets, trivial_on
from as2lib.runs.params import Backbone, Pairs
from as2lib.runs.run import Notebook, Run, names, roles, settings

if TYPE_CHECKING:
    from as2lib.study import Study


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children; none where the study has no cascade."""
    if study.cascade is None:
        return []
    return [*trivial(study), *map(study.cascade.applied, [*cascades(study), *monoliths(study)])]


def trivial(study: "Study") -> list[Run]:
    """The trivial baseline on the set with many candidates and on each further target; the study's own has it."""
    spec = {"scorer": "overlap_then_rank"}
    data = {name: roles(pairs.model_copy(update={"train": []})) for name, pairs in sets(study).items()}
    return [Run(trivial_on(name), "lexical", spec, data[name], 0, "lexical") for name in data if name != "target"]


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 08 with the names of the runs it reads."""
    if study.cascade is None:
        return []
    question, answers = "Can one encoder prune its own candidates?", "Cascade Transformer Tables 1–3, Figure 2"
    return [Notebook("08_cascade", question, answers, [trivial_on("target"), *names(runs(study))])]


def cascades(study: "Study") -> list[Run]:
    """CT, trained on the set with many candidates (Table 3), then adapted to the target set and to others (Table 2).

    The other recipes, one seed each, are trained on the first set only.
    """
    found, exits = [], study.cascade.exits
    for recipe in recipes(study).values():
        spec = {"cascade": {"exits": exits, **recipe.shape}, **recipe.spec}
        repeats = study.cascade.repeats(study) if recipe.prefix == "cascade" else []
        found += _steps(study, recipe.prefix, spec, exits[-1], "cascade", repeats)
    return found


def monoliths(study: "Study") -> list[Run]:
    """An independent model of each exit's depth, in the same two steps: the rows MT, and the members of SR.

    The full depth, what all is compared with, has every seed.  One of `mean` is a cascade of a single exit.
    """
    found = []
    for depth in study.cascade.exits:
        spec = {"cascade": {"exits": [depth]}} if depth in study.cascade.mean else {}
        repeats = study.cascade.repeats(study) if depth == study.cascade.exits[-1] else study.grid_seeds
        found += _steps(study, f"monolith/{depth}", spec, depth, "monolith", repeats)
    return found


def _steps(study: "Study", prefix: str, shape: dict[str, Any], depth: int, group: str, repeats: list[int]) -> list[Run]:
    """A fit on the wide set, from the first layers of a pretrained encoder, or of the one after `transfer`.

    Then, where there are `repeats`, on the target set a fit a seed of them; on each further one, with the first.
    """
    family, size, budget = study.cascade.family, study.cascade.size, study.cascade.fit
    backbone: Backbone = getattr(study.backbones[family], size)
    start, parents = {"backbone": {"name": backbone.name, "layers": depth}}, {}
    if backbone.config is not None:
        start, parents = {"layers": depth}, {"start": [f"transfer/{family}-{size}/seed-0"]}
    training = (group == "cascade" and budget.joint) or budget.transfer
    spec = {**start, "loss": "ce", **shape, **settings(study, training, {})}
    chosen = training.evaluate_every or prefix == "cascade"  # CT's drop ratios are chosen on dev
    first = Run(f"{prefix}/wide/seed-0", "fit", spec, _roles(study.wide, chosen), 0, group, parents)
    spec, parents = {"loss": "ce", **shape, **settings(study, budget.adapt, {})}, {"start": [first.name]}
    further = [(name, pairs, repeats[:1]) for name, pairs in study.cascade.targets.items()]
    return [first] + [
        Run(f"{prefix}/{name}/seed-{n}", "fit", spec, _roles(pairs, budget.adapt.evaluate_every), n, group, parents)
        for name, pairs, seeds in [("target", study.data.target, repeats), *further]
        for n in seeds
    ]


def _roles(pairs: Pairs, dev: Any) -> dict[str, list[str]]:
    """Dev only where something is chosen on it."""
    return roles(pairs if dev else pairs.model_copy(update={"dev": []}))
