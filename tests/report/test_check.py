import json
import subprocess

import pytest

from as2lib import Study
from as2lib.cli import main
from as2lib.report import check


@pytest.fixture
def metrics(own_root, monkeypatch):
    """The numbers of a notebook of a published study, in a clone whose HEAD has other ones too."""
    monkeypatch.setattr("as2lib.study.store.Store.index", {"sources": {}, "runs": {"key": {"run": "mine"}}})
    path = own_root / "reports" / "selqa" / "metrics" / "03.json"
    path.parent.mkdir(parents=True)
    return path


def commit(root):
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", "-C", root, *words], check=True)


def test_a_published_study_is_held_against_the_numbers_that_its_clone_has_committed(metrics, tmp_path, capsys):
    mhs = {"MAP": 76.77123, "seeds": 3, "verdict": "undecided"}
    metrics.write_text(json.dumps({"mhs/3h1": mhs, "texts: in train: dev": {"questions": 0}}))
    commit(tmp_path)
    study = Study.load("selqa")
    assert check.moved(study) == []
    metrics.write_text(json.dumps({"mhs/3h1": mhs | {"MAP": 76.7809}}))  # where the texts are not at hand
    assert check.moved(study) == []
    mhs = {"MAP": 76.9, "seeds": 2, "verdict": "reproduced"}
    metrics.write_text(json.dumps({"mhs/3h1": mhs, "texts: in train: dev": {"questions": 1}}))
    assert [line.partition(":")[0] for line in check.moved(study)] == ["03"] * 4
    assert "03: mhs/3h1 verdict: expected undecided" in "".join(check.moved(study))
    metrics.write_text("<<<<<<< HEAD\n{}\n")
    assert main(["check", "selqa"]) != 0
    assert "reports/selqa/metrics/03.json" in capsys.readouterr().err


def test_nothing_made_and_nothing_committed_are_said(metrics, tmp_path):
    study = Study.load("selqa")
    [line] = check.moved(study)
    assert "as2 study selqa" in line
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.9}}))
    [line] = check.moved(study)
    assert "clone" in line


def test_an_edited_table_is_said_and_its_new_hash_is_not_written(metrics, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("as2lib.study.findings.broken", lambda study: [])  # of numbers that are not here
    metrics.write_text(json.dumps({"mhs/3h1": {"MAP": 76.9}}))
    table = tmp_path / "reports" / "selqa" / "tables" / "03_table_1.csv"
    table.parent.mkdir()
    table.write_text("run,MAP\nmhs/3h1,76.9\n")
    check.write_manifest(Study.load("selqa"))
    manifest = (tmp_path / "reports" / "selqa" / "manifest.json").read_bytes()
    commit(tmp_path)
    assert main(["check", "selqa"]) == 0
    table.write_text("run,MAP\nmhs/3h1,86.9\n")
    assert main(["check", "selqa"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "reports/selqa/tables/03_table_1.csv" in line
    assert (tmp_path / "reports" / "selqa" / "manifest.json").read_bytes() == manifest
