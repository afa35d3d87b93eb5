"""Jobs of a study: each a bundle of missing runs that share a process, as parallel as their parents allow."""

from collections.abc import Callable
from dataclasses import dataclass

from as2lib.study.estimate import is_encoder, parameters, seconds_of
from as2lib.study.run import Run
from as2lib.study.store import Store

IMPORTS = 10  # times that a small study pays a process's imports, about
SHORTEST, LONGEST = 20.0, 900.0  # seconds of a job; a longer run is one of its own
LIBRARIES = 4_000  # megabytes of memory
DAY = 24 * 60  # minutes that a job asks for at most: one that needs more is put back in the queue, and goes on


@dataclass
class Bundle:
    """A job: runs that are made one after the other, none of which waits for another of them.

    runs: name → whether its weights are needed.  parents: the jobs whose runs these are made from.
    seconds: of all its runs.  path: seconds from its start to the end of the longest chain of jobs behind it.
    """

    name: str
    runs: dict[str, bool]
    parents: list[str]
    seconds: float
    path: float
    megabytes: int
    minutes: int


def bundles(store: Store, seconds: Callable[[Run], float] | None = None) -> dict[str, Bundle]:
    """Name → job, parents first, of all that the study misses.

    Runs are taken level by level (those without missing parents, those made from these, and so on), those of the same
    parents one after another, until a job is long enough.  seconds: of a run; default: as estimated.
    """
    seconds = seconds or seconds_of(store)
    needed = store.needed(list(store.plan))
    time = {name: seconds(store.plan[name]) for name in needed}
    longest = min(max(sum(time.values()) / IMPORTS, SHORTEST), LONGEST)
    parents, level = {}, {}
    for name in needed:
        parents[name] = [parent.name for parent in store.plan[name].parent_runs() if parent.name in needed]
        level[name] = 1 + max((level[parent] for parent in parents[name]), default=-1)

    jobs: dict[str, Bundle] = {}
    home: dict[str, str] = {}  # run → its job
    waits = {}  # run → the jobs that it waits for
    for depth in range(1 + max(level.values(), default=-1)):
        runs = [name for name in needed if level[name] == depth]
        for name in runs:
            waits[name] = sorted({home[parent] for parent in parents[name]})
        job = None
        for name in sorted(runs, key=waits.get):  # stable: otherwise in the plan's order
            if job is None or job.seconds + time[name] > longest:
                job = Bundle(f"{len(jobs):04}-{name.replace('/', '-')}", {}, [], 0.0, 0.0, 0, 0)
                jobs[job.name] = job
            job.runs[name] = needed[name]
            job.parents = sorted({*job.parents, *waits[name]})
            job.seconds += time[name]
            home[name] = job.name

    for job in reversed(jobs.values()):  # children first
        job.path += job.seconds
        for parent in job.parents:
            jobs[parent].path = max(jobs[parent].path, job.path)
        fits = [run for run in map(store.plan.get, job.runs) if is_encoder(run)]
        weights = max(map(parameters, fits), default=0.0)
        # weights, gradients, Adam's two moments, the best weights and a checkpoint
        job.megabytes = round(LIBRARIES + 6 * 4 * weights / 1e6)
        job.minutes = min(30 + round(2 * job.seconds / 60), DAY)
    return jobs
