import shutil
import subprocess

import pytest

from as2lib import Study
from as2lib.paths import file_sha256
from as2lib.study.run import VERSIONS
from tests.papers.conftest import ROOT

STUDIES = ("wikiqa", "wikiqa_base", "selqa")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A root with what git has of a study: parameters and published scores; no data is mapped, no hub is asked."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.setattr("as2lib.hub.commit", lambda name, revision: None)
    (tmp_path / "params").mkdir()
    for name in STUDIES:
        shutil.copy(ROOT / "params" / f"{name}.yaml", tmp_path / "params")
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "scores").symlink_to(ROOT / "reports" / name / "scores")
    return tmp_path


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_run_is_found_with_its_version_and_files_and_scored_the_same_pairs(clone, name):
    study, labels = Study.load(name), {}
    assert study.store.index["runs"]
    for key, entry in study.store.index["runs"].items():
        run = entry["run"]
        assert study.store.identity(run) == key, run
        assert entry["commit"], run
        assert entry["version"] == VERSIONS[study.plan[run].kind], run
        for file, digest in entry["files"].items():
            assert file_sha256((study.store.index_folder / run).parent / file) == digest, file
        stored = study.store.find(run)
        assert stored.scores_only, run
        if "test" in study.plan[run].data:
            table = stored.scores()[["question_id", "position", "label"]]
            assert labels.setdefault(study.plan[run].data["test"], table).equals(table), run


@pytest.mark.parametrize("name", STUDIES)
def test_every_commit_that_a_published_run_says_is_in_the_history(clone, name):
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False).stdout.split()

    commits = {entry["commit"] for entry in Study.load(name).store.index["runs"].values()}
    history = set(git("rev-list", "HEAD"))
    if git("rev-parse", "--show-toplevel", "--is-shallow-repository") != [str(ROOT), "false"]:
        pytest.skip("the history is not here: no clone of this repository, or a shallow one")
    if not commits & history:
        pytest.skip("the history is not here: none of the published commits, as after a squash")
    assert commits <= history
