"""What `as2 plan` says of each run, and what is said of a study that ends before all is made."""

import threading
import time

import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.locks import take
from as2lib.study import bundles, graph, progress
from as2lib.study.make import ERROR, make_all
from tests.study.conftest import graph_notebooks

FAILED, RUNNING = "teacher/electra/seed-0", "teacher/electra/seed-1"


@pytest.fixture
def study(root, fits, monkeypatch):
    """A study of which one run is done, one failed and one is being made."""
    monkeypatch.setattr("as2lib.study.catalogue.notebooks", graph_notebooks)
    study = Study.load("tiny")
    make_all(study.store, ["lexical/word_overlap", "transfer/electra/seed-0"], model=True)
    for name in (FAILED, RUNNING):
        partial = study.store.folder(name).with_suffix(".partial")
        partial.mkdir()
        (partial / "log.jsonl").write_text('{"step": 3, "seconds": 1.5}\n')
    (study.store.folder(FAILED).with_suffix(".partial") / ERROR).write_text("ValueError: no such word\n")
    lock = take(study.store.folder(RUNNING).name)
    yield study
    lock.release()


def test_plan_says_what_each_run_is_at_and_what_is_left(study, capsys):
    jobs = graph.refresh(study, [])
    [job] = [name for name, job in jobs.items() if FAILED in job.runs]
    assert main(["plan", "tiny"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "done lexical/word_overlap from –" in lines
    assert f"failed {FAILED} ValueError: no such word (work/graph/tiny/logs/{job}.log)" in lines
    assert f"running {RUNNING} step 3, 2.0 a second" in lines
    assert f"to do student/electra/seed-0 from transfer/electra/seed-0, {FAILED}" in lines
    assert any(line.startswith("tiny: 9 runs: 2 done, ") and "1 failed, 1 running" in line for line in lines)
    assert any(line.startswith("left: at most 16 steps") for line in lines)
    assert lines[-1].startswith("1 side by side end about")


def test_a_line_says_where_a_study_stands_while_it_is_made(study, capfd, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.01)
    [job] = [job for job in bundles.bundles(study.store).values() if "lexical/reciprocal_rank" in job.runs]
    threading.Thread(target=progress.watch, args=(study, {job.name: job}, []), daemon=True).start()
    make_all(study.store, list(job.runs))
    text, until = "", time.monotonic() + 30
    while "1 of 1 runs, 0 of 0 pages" not in text and time.monotonic() < until:
        text += capfd.readouterr().err
    assert "study tiny: 0 of 1 jobs, 1 of 1 runs, 0 of 0 pages; 0:0" in text


def test_a_study_that_ends_early_names_what_is_left_and_what_failed(study, root):
    jobs = bundles.bundles(study.store)
    line = progress.left(study, jobs, {"01_data": "work/graph/tiny/01_data.0"})
    assert f"left: {len(jobs)} of {len(jobs)} jobs, 01_data; failed: {FAILED} (ValueError: no such word);" in line
    for name in jobs:
        marker = root / graph.job_marker(study, name)
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
    assert progress.left(study, jobs, {}) == ""
