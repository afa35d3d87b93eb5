"""A search is a static grid: each point is an ordinary run, and a `select/…` run picks the best one on dev."""

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from as2lib.runs.run import Run, prefix_of

if TYPE_CHECKING:
    from as2lib.study import Study

OF_TRAINING = ("learning_rate", "batch_size")  # the others belong to the objective


def searched(study: "Study", runs: list[Run]) -> list[Run]:
    """The runs with their searches before them, where `grid` has points for what a fit is made of.

    Each seed of `name` takes the settings that `select/name` picks among `grid/name/0`, `grid/name/1`, …, which are
    fitted once, as the first of those seeds.
    """
    found, searches = [], set()
    for run in runs:
        points = points_for(run, study.grid.model_dump())
        if len(points) > 1:
            name = prefix_of(run.name)
            if name not in searches:
                searches.add(name)
                trials = tried(run, points)
                parents = {"members": [trial.name for trial in trials]}
                found += [*trials, Run(f"select/{name}", "select", {"points": points}, {}, 0, run.group, parents)]
            run = replace(run, parents={**run.parents, "settings": [f"select/{name}"]})
        found.append(run)
    return found


def points_for(run: Run, grid: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The settings to try for a run: all combinations of those values of the grid that it is made of."""
    if run.kind != "fit" or "dev" not in run.data:
        return []
    used = [name for name, values in grid.items() if values and (name in run.spec or name in OF_TRAINING)]
    return [dict(zip(used, values, strict=True)) for values in product(*(grid[name] for name in used))] if used else []


def tried(run: Run, points: list[dict[str, Any]]) -> list[Run]:
    """The run once for each point, as `grid/…/0`, `grid/…/1`, …"""
    name = prefix_of(run.name)
    return [replace(run, name=f"grid/{name}/{i}", spec=settled(run.spec, point)) for i, point in enumerate(points)]


def settled(spec: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    """A spec with the settings of one point of the grid."""
    training = {**spec["training"], **{name: value for name, value in point.items() if name in OF_TRAINING}}
    return {**spec, **{name: value for name, value in point.items() if name not in OF_TRAINING}, "training": training}
