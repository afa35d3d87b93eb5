import shutil
import subprocess

import numpy
import pandas
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from as2lib import Study
from as2lib.metrics.probability import sigmoid
from as2lib.metrics.ranking import summary
from as2lib.paths import file_sha256
from as2lib.study.run import VERSIONS
from as2lib.study.scores import log_odds, read_scores, write_scores
from tests.papers.conftest import ROOT

PUBLISHED = sorted(path.parts[-3] for path in ROOT.glob("reports/*/scores/index.json"))
PROBABILITIES = st.floats(0, 1) | st.floats(-40, 40).map(lambda z: float(sigmoid(numpy.float64(z))))


def ranks(scores, question):
    return pandas.Series(scores).groupby(question).rank(method="min").tolist()


@given(st.lists(st.tuples(PROBABILITIES, st.integers(0, 3)), min_size=1, max_size=40))
@example([(0.7, 0), (0.7 + 1e-9, 0)])  # which no float32 tells apart
def test_log_odds_keep_probabilities_within_a_millionth_and_every_questions_order_and_ties(pairs):
    probability, question = map(numpy.array, zip(*pairs, strict=True))
    stored = log_odds(probability, question)
    restored = sigmoid(stored.astype("float64")) if stored.dtype == "float32" else stored
    assert numpy.abs(restored - probability).max() <= 1e-6
    assert ranks(restored, question) == ranks(probability, question)


@pytest.fixture
def tables():
    dev = pandas.DataFrame({"question_id": ["a", "a", "b"], "position": [0, 1, 0], "label": [0, 1, 1]})
    test = pandas.DataFrame({"question_id": ["c", "c"], "position": [0, 1], "label": [1, 0]})
    return {"dev": dev.assign(score=[0.1, 0.9, 0.5]), "test": test.assign(score=[0.3, 0.3], head_0=[0.2, 1.0])}


@pytest.mark.parametrize("name", ["log_odds", "score"])
def test_scores_come_back_by_split_with_the_columns_that_it_has_and_any_pandas_ranks_by_them(tmp_path, tables, name):
    path = tmp_path / "run.parquet"
    write_scores(path, tables, probabilities=name == "log_odds")
    for split, table in tables.items():
        stored = read_scores(path, file_sha256(path), split)
        pandas.testing.assert_frame_equal(stored, table, check_dtype=False, atol=1e-6)
    table = pandas.read_parquet(path)
    assert [*table][:5] == ["split", "question_id", "position", "label", name]
    assert summary(*table.query("split == 'dev'")[["question_id", "label", name]].to_numpy().T)["MAP"] == 1


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A root with what git has of a study: parameters and published scores; no data is mapped, no hub is asked."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    monkeypatch.setattr("as2lib.hub.commit", lambda name, revision: None)
    (tmp_path / "params").mkdir()
    for name in PUBLISHED:
        shutil.copy(ROOT / "params" / f"{name}.yaml", tmp_path / "params")
        (tmp_path / "reports" / name).mkdir(parents=True)
        (tmp_path / "reports" / name / "scores").symlink_to(ROOT / "reports" / name / "scores")
    return tmp_path


@pytest.mark.parametrize("name", PUBLISHED)
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
        assert stored.published, run
        if "test" in study.plan[run].data:
            table = stored.scores()[["question_id", "position", "label"]]
            assert labels.setdefault(study.plan[run].data["test"], table).equals(table), run


@pytest.mark.parametrize("name", PUBLISHED)
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
