import pytest

from as2lib.cli import main
from tests.study.conftest import write_study

CONFLICT = "<<<<<<< HEAD\n{0}=======\n{0}>>>>>>> theirs\n"


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """The reports of a study that published a run."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    write_study(tmp_path)
    assert main(["publish", "tiny", "lexical/word_overlap"]) == 0
    return tmp_path / "reports"


@pytest.mark.parametrize("name", ["index.json", "sources.json"])
def test_publishing_refuses_a_file_with_a_merge_conflict_and_changes_nothing(reports, capsys, name):
    path = reports / "tiny" / "runs" / name
    path.write_text(CONFLICT.format(path.read_text()))
    before = files(reports)
    assert main(["publish", "tiny", "lexical/overlap_then_rank"]) == 2
    assert f"reports/tiny/runs/{name}" in capsys.readouterr().err
    assert files(reports) == before


def test_a_check_only_reads(reports, capsys):
    metrics = reports / "tiny" / "metrics" / "02.json"
    metrics.parent.mkdir()
    metrics.write_text(CONFLICT.format('{"a MAP": 1.0}\n'))
    before = files(metrics.parent)
    assert main(["check", "tiny"]) != 0
    assert "reports/tiny/metrics/02.json" in capsys.readouterr().err
    assert files(metrics.parent) == before
