"""Jobs of a study: what each waits for, and that several GPUs are busy while a run is ready."""

import heapq

import pytest

from as2lib import Study
from as2lib.study.bundles import bundles
from tests.first_hour.hub_like import ROOT


def steps(run) -> float:
    return float(run.spec["training"].get("steps", 500)) if run.kind == "fit" else 1.0


@pytest.fixture(scope="module", params=["sample", "paper"])
def study(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(ROOT))
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("as2lib.study.store.Store.find", lambda store, name, model=False: None)  # nothing is made
        study = Study.load(request.param)
        yield study, bundles(study.store, steps)


def test_a_job_s_runs_are_made_from_its_own_and_those_of_jobs_before_it(study):
    study, jobs = study
    behind = {}  # job → all the runs that are there when it starts
    others = {name for name, run in study.plan.items() if run.kind != "fit"}
    for name, job in jobs.items():
        behind[name] = set().union(*(behind[parent] | set(jobs[parent].runs) for parent in job.parents))
        for run in job.runs:
            ancestors = {parent.name for parent in study.plan[run].ancestors()}
            assert ancestors <= behind[name] | set(job.runs) | others
    missing = study.store.needed(list(study.plan))
    assert sorted(run for job in jobs.values() for run in job.runs) == sorted(missing)


def test_a_long_run_is_a_job_of_its_own_a_small_study_pays_few_imports_and_four_gpus_are_busy(study):
    study, jobs = study
    for job in jobs.values():
        fits = [name for name in job.runs if study.plan[name].kind == "fit"]
        assert len(fits) < 2 or job.seconds <= 900
    if study.name == "sample":
        assert len(bundles(study.store, lambda run: steps(run) / 50)) < 25
    else:
        assert busy(jobs, 4) > 0.9


def busy(jobs, gpus: int) -> float:
    """The share of the time that devices compute, until all is made."""
    waiting = {name: set(job.parents) for name, job in jobs.items()}
    children = {name: [other for other in jobs if name in jobs[other].parents] for name in jobs}
    ready = [(-jobs[name].path, name) for name in jobs if not waiting[name]]
    heapq.heapify(ready)
    running, now, worked, spent = [], 0.0, 0.0, 0.0
    while ready or running:
        while ready and len(running) < gpus:
            _, name = heapq.heappop(ready)
            heapq.heappush(running, (now + jobs[name].seconds, name))
        end, name = heapq.heappop(running)
        spent += gpus * (end - now)
        worked += (len(running) + 1) * (end - now)
        now = end
        for child in children[name]:
            waiting[child].discard(name)
            if not waiting[child]:
                heapq.heappush(ready, (-jobs[child].path, child))
    return worked / spent
