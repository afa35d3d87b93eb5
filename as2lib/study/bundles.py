"""Jobs of a study: each a bundle of missing runs that share a process, as parallel as their parents allow."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from as2lib.study.estimate import Estimate, parameters
from as2lib.study.store import read_json, write_json

if TYPE_CHECKING:
    from as2lib.study.run import Run
    from as2lib.study.store import Store

IMPORTS = 10  # times that a small study pays a process's imports, about
SHORTEST, LONGEST = 20.0, 900.0  # seconds of a bundle; a longer run is a job of its own
DAY = 24 * 60  # minutes that a job asks for at most: one that needs more is put back in the queue, and goes on


@dataclass(frozen=True)
class Bundle:
    """A job: runs, parents first, of which none waits for a run of another job that waits for one of these.

    runs: name → whether its weights are needed.  parents: the bundles whose runs these are made from.
    seconds: of all its runs.  path: seconds from its start to the end of the longest chain of bundles behind it.
    """

    name: str
    runs: dict[str, bool]
    parents: list[str]
    seconds: float
    path: float
    megabytes: int
    minutes: int


def bundles(store: "Store", seconds: "Callable[[Run], float] | None" = None) -> dict[str, Bundle]:
    """Name → job, parents first, of all that the study misses.

    A run that trains nothing is made by the jobs of the fits that read it; where none does, it is bundled as fits are.
    seconds: of a run; default: the `Estimate` of it.
    """
    seconds = seconds or Estimate(store).seconds
    needed = store.needed(list(store.plan))
    missing = [store.plan[name] for name in store.plan if name in needed]
    read = {parent.name for run in missing for parent in run.parent_runs()}
    alone = {run.name for run in missing if run.kind == "fit" or run.name not in read}
    parents: dict[str, set[str]] = {}  # of each run: those of its parents, or theirs, that stand in a bundle
    depth: dict[str, int] = {}  # of each run: how many of those come one after another
    for run in missing:
        near = [parent.name for parent in run.parent_runs() if parent.name in needed]
        parents[run.name] = {name for parent in near for name in ({parent} if parent in alone else parents[parent])}
        depth[run.name] = 1 + max((depth[name] for name in parents[run.name]), default=-1)
    order = {run.name: place for place, run in enumerate(missing)}
    time = {run.name: seconds(run) for run in missing}
    longest = min(max(sum(time.values()) / IMPORTS, SHORTEST), LONGEST)

    home: dict[str, int] = {}  # run → the place of its bundle
    rows: list[list[str]] = []
    for level in range(1 + max(depth.values(), default=-1)):
        level_runs = [name for name in alone if depth[name] == level]
        waits = {name: sorted({home[parent] for parent in parents[name]}) for name in level_runs}
        filled = float("inf")
        for name in sorted(level_runs, key=lambda name: (waits[name], order[name])):
            if filled + time[name] > longest:
                rows.append([])
                filled = 0.0
            rows[-1].append(name)
            filled += time[name]
            home[name] = len(rows) - 1

    for run in reversed(missing):  # children before parents: what trains nothing goes to its first child's bundle
        if run.name in home:
            for parent in run.parent_runs():
                if parent.name in needed and parent.name not in home:
                    home[parent.name] = home[run.name]
                    rows[home[run.name]].append(parent.name)

    names = [f"{place:04}-{row[0].replace('/', '-')}" for place, row in enumerate(rows)]
    before = [
        sorted({home[parent] for name in row for parent in parents[name]} - {place}) for place, row in enumerate(rows)
    ]
    sums = [sum(time[name] for name in row) for row in rows]
    path = list(sums)
    for place in reversed(range(len(rows))):
        for parent in before[place]:
            path[parent] = max(path[parent], sums[parent] + path[place])
    return {
        names[place]: Bundle(
            names[place],
            {name: needed[name] for name in sorted(rows[place], key=order.__getitem__)},
            [names[parent] for parent in before[place]],
            sums[place],
            path[place],
            _megabytes([store.plan[name] for name in rows[place]]),
            min(30 + round(2 * sums[place] / 60), DAY),
        )
        for place in range(len(rows))
    }


def _megabytes(runs: "list[Run]") -> int:
    """Of memory: weights, gradients, Adam's two moments, the best weights and a checkpoint, and the libraries."""
    weights = max((parameters(run) for run in runs if run.kind == "fit" and "words" not in run.spec), default=0.0)
    return round(4_000 + 6 * 4 * weights / 1e6)


def write(path: Path, jobs: dict[str, Bundle]) -> None:
    write_json(path, {name: asdict(job) for name, job in jobs.items()})


def read(path: Path) -> dict[str, Bundle]:
    """The jobs of the study that is being made; none where none is."""
    return {name: Bundle(**job) for name, job in read_json(path).items()} if path.exists() else {}
