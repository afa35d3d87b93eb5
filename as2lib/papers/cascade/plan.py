"""The runs of the Cascade Transformer paper: the cascade, trained in several ways, and models of each exit's depth."""

from typing import TYPE_CHECKING, Any

from as2lib.papers.cascade.systems import recipes, trivial_on
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
    sets = {"wide": study.wide, **study.cascade.targets}
    spec, scored = {"scorer": "overlap_then_rank"}, {name: roles(pairs) for name, pairs in sets.items()}
    found = {name: {split: parts for split, parts in scored[name].items() if split != "train"} for name in sets}
    return [Run(trivial_on(name), "lexical", spec, data, 0, "lexical") for name, data in found.items()]


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
    found, exits, repeats = [], study.cascade.exits, study.cascade.repeats(study)
    for recipe in recipes(study).values():
        spec = {"cascade": {"exits": exits, **recipe.shape}, **recipe.spec}
        first = _first_step(study, recipe.prefix, spec, exits[-1], "cascade")
        found += [first, *(_second_steps(study, first, repeats) if recipe.prefix == "cascade" else [])]
    return found


def monoliths(study: "Study") -> list[Run]:
    """An independent model of each exit's depth, in the same two steps: the rows MT, and the members of SR.

    The full depth, what all is compared with, has every seed.  One of `mean` is a cascade of a single exit.
    """
    found, exits, repeats = [], study.cascade.exits, study.cascade.repeats(study)
    for depth in exits:
        spec = {"cascade": {"exits": [depth]}} if depth in study.cascade.mean else {}
        first = _first_step(study, f"monolith/{depth}", spec, depth, "monolith")
        found += [first, *_second_steps(study, first, repeats if depth == exits[-1] else study.grid_seeds)]
    return found


def _first_step(study: "Study", prefix: str, spec: dict[str, Any], depth: int, group: str) -> Run:
    """From the first layers of a pretrained encoder; where encoders start from nothing, of the one after `transfer`."""
    family, size, budget = study.cascade.family, study.cascade.size, study.cascade.fit
    training = (group == "cascade" and budget.joint) or budget.transfer
    backbone: Backbone = getattr(study.backbones[family], size)
    if backbone.config is None:
        start, parents = {"backbone": {"name": backbone.name, "layers": depth}}, {}
    else:
        start, parents = {"layers": depth}, {"start": [f"transfer/{family}-{size}/seed-0"]}
    spec = {**start, "loss": "ce", **spec, **settings(study, training, {})}
    data = _roles(study.wide, training.evaluate_every or prefix == "cascade")  # CT's drop ratios are chosen on dev
    return Run(f"{prefix}/wide/seed-0", "fit", spec, data, 0, group, parents)


def _second_steps(study: "Study", first: Run, repeats: list[int]) -> list[Run]:
    """On the target set, a fit a seed of `repeats`; on each further one, with the first."""
    training, prefix = study.cascade.fit.adapt, first.name.removesuffix("/wide/seed-0")
    shape = {"cascade": first.spec["cascade"]} if "cascade" in first.spec else {}
    spec, start = {"loss": "ce", **shape, **settings(study, training, {})}, {"start": [first.name]}
    on = [("target", study.data.target, seed) for seed in repeats]
    on += [(name, pairs, repeats[0]) for name, pairs in study.cascade.targets.items()]
    return [
        Run(f"{prefix}/{name}/seed-{n}", "fit", spec, _roles(pairs, training.evaluate_every), n, first.group, start)
        for name, pairs, n in on
    ]


def _roles(pairs: Pairs, dev: Any) -> dict[str, list[str]]:
    """Dev only where something is chosen on it."""
    return {role: parts for role, parts in roles(pairs).items() if role != "dev" or dev}
