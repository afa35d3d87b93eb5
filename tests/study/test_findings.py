import json
import math

import pytest

from as2lib.study import Study, findings
from as2lib.study.findings import flat, value

NUMBERS = {
    "mhs/3h1": {"MAP": 75.1, "P@1": 60.2, "MAP ±": 0.3, "verdict": "undecided"},
    "base/electra": {"MAP": 74.8},
    "mhs/3h1 − base/electra": {"difference": 0.34, "low": -1.2, "high": 1.9},
    "undefined": {"MAP": None},
    "questions": 237,
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("mhs/3h1 − base/electra low < 0 < mhs/3h1 − base/electra high", True),
        ("not questions ≥ 237 or mhs/3h1 P@1 > 1e2", False),
        ("(mhs/3h1 MAP + base/electra MAP) / 2", 74.95),
        ("mhs/3h1 - base/electra", 0.34),
        ("undefined > 0", False),
    ],
)
def test_an_expression_over_recorded_numbers(expression, expected):
    assert value(expression, flat(NUMBERS)) == pytest.approx(expected)


@pytest.mark.parametrize("expression", ["__import__('os').getcwd()", "3 ** 9 > 1", "mhs/3h1 MAP <", "'a' < 'b'"])
def test_nothing_but_arithmetic_and_comparisons_is_read(expression):
    with pytest.raises(ValueError, match=r"wikiqa.yaml: 03, finding 1: "):
        value(expression, flat(NUMBERS), "wikiqa.yaml: 03, finding 1")


def test_a_name_that_is_part_of_a_longer_one_is_not_taken_for_it():
    with pytest.raises(ValueError, match=r"'mhs/3h1-no-teacher' is not among the numbers .* did you mean mhs/3h1"):
        value("mhs/3h1-no-teacher MAP > 1", flat(NUMBERS))


def test_what_is_undefined_is_a_dash_and_a_division_by_zero_is_undefined():
    assert math.isnan(value("1 / 0", {}))
    assert findings._filled("undefined:.1f", flat(NUMBERS), "") == "–"


@pytest.mark.parametrize(
    ("content", "text"),
    [("mhs/3h1 − base/electra low:+.1f", "−1.2"), ("base/electra − mhs/3h1:.0f", "0"), ("questions:d", "237")],
)
def test_a_number_in_a_text(content, text):
    assert findings._filled(content, flat(NUMBERS), "") == text


def test_findings_of_a_notebook_are_filled_in_and_a_false_one_is_broken(root):
    study = Study.load("tiny")
    assert findings.of_notebook(study, "03_distillation") == []
    (root / "params" / "findings").mkdir()
    text = (
        "03_distillation:\n"
        "  - say: >-\n      MHS gains {mhs/3h1 − base/electra:+.1f}\n      points.\n"
        '    holds: "mhs/3h1 − base/electra low < 0"\n'
        "  - say: It has {mhs/3h1 MAP:.1f}.\n"
        "    holds: mhs/3h1 > 80\n"
    )
    (root / "params" / "findings" / "tiny.yaml").write_text(text)
    with pytest.raises(FileNotFoundError, match=r"03.json of tiny: 03_distillation has recorded no numbers yet"):
        findings.of_notebook(study, "03_distillation")
    assert findings.broken(study) == []
    metrics = root / "reports" / "tiny" / "metrics" / "03.json"
    metrics.parent.mkdir(parents=True)
    metrics.write_text(json.dumps(NUMBERS))
    first, second = findings.of_notebook(study, "03_distillation")
    assert (first.text, first.holds) == ("MHS gains +0.3 points.", True)
    assert (second.text, second.holds) == ("It has 75.1.", False)
    assert findings.broken(study) == ["03_distillation: no longer follows from the numbers: It has 75.1."]


@pytest.mark.parametrize("item", ["- say: x", "- x", "{say: x, holds: y}"])
def test_a_finding_is_say_and_holds(root, item):
    (root / "params" / "findings").mkdir()
    (root / "params" / "findings" / "tiny.yaml").write_text(f"03_distillation:\n  {item}\n")
    with pytest.raises(ValueError, match=r"tiny.yaml: 03_distillation, finding 1: expected say and holds"):
        findings.read(Study.load("tiny"))
