"""The runs of the Cascade Transformer paper: the cascade, monolithic models of each exit's depth, and ablations."""

from typing import TYPE_CHECKING, Any

from as2lib.papers.cerberus.plan import lexical
from as2lib.runs.params import Backbone, Pairs, Training
from as2lib.runs.run import Notebook, Run, names, roles

if TYPE_CHECKING:
    from as2lib.study import Study

# Other ways of training than the paper's choice, by run name (section 4.3 and 4.3.1), as changes of a spec.
ABLATIONS: dict[str, dict[str, Any]] = {
    "round_robin": {"schedule": "round_robin"},
    "early": {"schedule": "early"},
    "stopped": {"stop_gradient": True},
    "first": {"pooling": "first"},
}


def runs(study: "Study") -> list[Run]:
    """Every run of this paper, parents before children; none where the study has no cascade."""
    if study.cascade is None:
        return []
    return [*trivial(study), *cascades(study), *monoliths(study), *ablations(study)]


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 08 with the names of the runs it reads."""
    if study.cascade is None:
        return []
    return [
        Notebook(
            "08_cascade",
            "Can one encoder prune its own candidates?",
            "Cascade Transformer Tables 1–3, Figure 2",
            names([*lexical(study), *runs(study)]),
        )
    ]


def trivial(study: "Study") -> list[Run]:
    """WO+RR on the set with many candidates."""
    data = {"dev": study.wide.dev, "test": study.wide.test}
    return [Run("wide/overlap_then_rank", "lexical", {"scorer": "overlap_then_rank"}, data, 0, "lexical")]


def cascades(study: "Study") -> list[Run]:
    """CT: trained on the set with many candidates (Table 3), then adapted to the target set (Table 2)."""
    spec = {"cascade": {"exits": study.cascade.exits}}
    return _two_steps(study, "cascade", spec, study.cascade.exits[-1], "cascade", study.seeds)


def monoliths(study: "Study") -> list[Run]:
    """An independent model of each exit's depth, in the same two steps: the rows MT, and the members of SR.

    The full depth, what all is compared with, has every seed.
    """
    runs = []
    for depth in study.cascade.exits:
        full = depth == study.cascade.exits[-1]
        seeds = study.seeds if full else study.grid_seeds
        runs += _two_steps(study, f"monolith/{depth}", {}, depth, "monolith", seeds)
    return runs


def ablations(study: "Study") -> list[Run]:
    """The first step of CT, trained in other ways; one seed."""
    runs = []
    for name, change in ABLATIONS.items() if study.cascade.ablations else ():
        shape = {"exits": study.cascade.exits, **{k: v for k, v in change.items() if k != "schedule"}}
        spec = {"cascade": shape, **{k: v for k, v in change.items() if k == "schedule"}}
        runs.append(_first_step(study, f"cascade-{name}", spec, study.cascade.exits[-1], "cascade"))
    return runs


def _two_steps(study: "Study", name: str, spec: dict[str, Any], depth: int, group: str, seeds: list[int]) -> list[Run]:
    """`<name>/wide/seed-0`, trained on the set with many candidates, and `<name>/target/seed-…`, adapted from it."""
    first = _first_step(study, name, spec, depth, group)
    data, start = _roles(study.data.target, study.cascade.fit.adapt), {"start": [first.name]}
    spec = {"loss": "ce", **spec, **_budget(study, study.cascade.fit.adapt)}
    return [first, *(Run(f"{name}/target/seed-{seed}", "fit", spec, data, seed, group, start) for seed in seeds)]


def _first_step(study: "Study", name: str, spec: dict[str, Any], depth: int, group: str) -> Run:
    """From the first layers of a pretrained encoder; where encoders start from nothing, of the one after `transfer`."""
    family, size = study.cascade.family, study.cascade.size
    backbone: Backbone = getattr(study.backbones[family], size)
    data = roles(study.wide) if name == "cascade" else _roles(study.wide, study.cascade.fit.transfer)
    whole = {"loss": "ce", **spec, **_budget(study, study.cascade.fit.transfer)}
    if backbone.config is None:
        origin = {"backbone": {"name": backbone.name, "layers": depth}}
        return Run(f"{name}/wide/seed-0", "fit", origin | whole, data, 0, group)
    start = {"start": [f"transfer/{family}-{size}/seed-0"]}
    return Run(f"{name}/wide/seed-0", "fit", {"layers": depth} | whole, data, 0, group, start)


def _roles(pairs: Pairs, training: Training) -> dict[str, list[str]]:
    """Dev only where the best weights are chosen on it; CT also chooses its drop ratios there."""
    return {role: parts for role, parts in roles(pairs).items() if role != "dev" or training.evaluate_every}


def _budget(study: "Study", training: Training) -> dict[str, Any]:
    return {"max_length": study.data.max_length, "training": training.model_dump(exclude_none=True)}
