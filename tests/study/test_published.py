"""Published scores stand for the runs that their studies plan: nobody without data, weights or a network trains."""

import shutil

import pytest

from as2lib.study import Study
from as2lib.study.catalogue import notebooks
from tests.papers.conftest import ROOT

STUDIES = ("wikiqa", "selqa")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A root with what git has of a study: parameters and published scores; no data is mapped, no hub is asked."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.setattr("as2lib.data.sets.hub_answers", lambda: False)
    monkeypatch.setattr("as2lib.study.store._commit", lambda name, revision: None)
    (tmp_path / "params").mkdir()
    for name in STUDIES:
        shutil.copy(ROOT / "params" / f"{name}.yaml", tmp_path / "params")
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "runs").symlink_to(ROOT / "reports" / name / "runs")
    return tmp_path


@pytest.mark.parametrize("name", STUDIES)
def test_a_clone_has_nothing_to_train(clone, name):
    study = Study.load(name)
    assert study.store.missing(list(study.plan)) == []
    assert set(study.store.published) <= set(study.plan)


@pytest.mark.parametrize("name", STUDIES)
def test_a_notebook_reads_only_runs_that_its_study_plans(clone, name):
    study = Study.load(name)
    read = {run.name for notebook in notebooks(study) for system in notebook.systems for run in system.runs()}
    assert read <= set(study.plan)


@pytest.mark.parametrize("name", STUDIES)
def test_published_files_are_as_their_index_says(clone, name):
    assert Study.load(name).store.check() == []


@pytest.mark.parametrize("name", STUDIES)
def test_systems_of_one_set_scored_the_same_pairs(clone, name):
    study, labels = Study.load(name), {}
    for run in study.plan.values():
        if "test" in run.data:
            table = study.store.find(run.name).scores()[["question_id", "position", "label"]]
            assert labels.setdefault(run.data["test"], table).equals(table), run.name
