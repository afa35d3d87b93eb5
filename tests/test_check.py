import json

import pytest

from as2lib import Study
from as2lib.__main__ import main
from as2lib.report import check


@pytest.fixture
def study(root):
    (root / "params" / "expected").mkdir()
    expected = {"02": {"a MAP": {"value": 70.0, "tolerance": 1.0}}, "03": {"b": {"value": 1, "tolerance": 0}}}
    (root / "params" / "expected" / "tiny.json").write_text(json.dumps(expected))
    return Study.load("tiny")


def measure(root, **values):
    folder = root / "reports" / "tiny" / "metrics"
    folder.mkdir(parents=True, exist_ok=True)
    for number, found in values.items():
        (folder / f"{number[1:]}.json").write_text(json.dumps(found))


def test_numbers_within_their_tolerance_pass_and_leave_a_manifest(study, root, capsys):
    measure(root, n02={"a MAP": 70.9}, n03={"b": 1})
    assert check.moved(study) == []
    assert main(["check", "tiny"]) == 0
    manifest = json.loads((root / "reports" / "tiny" / "manifest.json").read_text())
    assert set(manifest["runs"]) == set(study.plan)
    assert "checked 2 expected numbers" in capsys.readouterr().out


def test_each_number_that_moved_is_named_and_the_check_fails(study, root, capsys):
    measure(root, n02={"a MAP": 68.9}, n03={"b": float("nan")})
    assert main(["check", "tiny"]) == 1
    said = capsys.readouterr().err
    assert "02: a MAP: expected 70 ± 1, got 68.9" in said
    assert "03: b: expected 1 ± 0, got nan" in said
    assert not (root / "reports" / "tiny" / "manifest.json").exists()


def test_a_number_that_was_not_measured_has_moved(study):
    assert check.moved(study) == ["02: a MAP: expected 70, not measured", "03: b: expected 1, not measured"]


def test_a_study_without_expected_numbers_passes(root):
    assert check.moved(Study.load("tiny")) == []


def test_expected_numbers_are_written_from_what_notebooks_recorded(study, root):
    numbers = {"a MAP": 70.91234, "n": 12, "answer": "yes", "sure": True, "±": None, "zero": 0.0}
    measure(root, n00={"moved": 2}, n02=numbers, n03={"answer": "no"})
    assert check.write_expected(study) == root / "params" / "expected" / "tiny.json"
    assert check.expected(study) == {
        "02": {
            "a MAP": {"value": 70.912, "tolerance": check.NEAR},
            "n": {"value": 12, "tolerance": 0},
            "zero": {"value": 0.0, "tolerance": check.NEAR},
        }
    }
    assert check.moved(study) == []
    measure(root, n02=numbers | {"n": 13})
    assert check.moved(study) == ["02: n: expected 12 ± 0, got 13"]


def test_a_garbage_file_of_numbers_is_named_and_its_notebook_runs_again(study, root, capsys):
    measure(root, n02={"a MAP": 70.9}, n03={"b": 1})
    path = root / "reports" / "tiny" / "metrics" / "03.json"
    path.write_text("")
    assert main(["check", "tiny"]) == 1
    said = capsys.readouterr().err
    assert "reports/tiny/metrics/03.json: expected a JSON object, got an empty file" in said
    assert "03: b: expected 1, not measured" in said
    assert not path.exists()
