import json

import pytest

from as2lib import Study
from as2lib.study import findings

NUMBERS = {
    "mhs/3h1": {"MAP": 75.1, "P@1": 60.2, "MAP ±": -0.04, "verdict": "undecided"},
    "base/electra": {"MAP": 74.8},
    "mhs/3h1 − base/electra": {"difference": 0.34, "low": -1.2, "high": 1.9, "p Holm": 0.4},
    "pooled: mhs/3h1 − base/electra": {"low": 0.1},
    "questions": 237,
}
FINDINGS = """
names:
  mhs: mhs/3h1
  base: base/electra
00_own:
  - say: >-
      MHS gains {d["mhs − base"].difference:+.1f}
      points, at worst {d["mhs − base"].low:+.1f} and {mhs["MAP ±"]:+.1f}; {mhs.verdict} for {mhs["P@1"]:.0f}.
    holds: d["mhs − base"].low < 0 < d["mhs − base"].high and 74.9 < (mhs.MAP + base.MAP) / 2 < abs(-base.MAP) + 1
  - say: It has {mhs.MAP:.1f}.
    holds: >-
      d["mhs/3h1 − base/electra"]["p Holm"] < 0.05 or d["pooled: mhs − base"].low < 0 or not mhs.MAP < 80
  - figure: "0.1"
    title: Of {questions} questions
    holds: questions > 300
"""


NO_CONDITION = ["__import__('os').getcwd()", "d.questions <", "d.__class__ == 1", "d.answers > 1"]


def write(root, text: str, numbers=None) -> None:
    (root / "params" / "findings").mkdir(exist_ok=True)
    (root / "params" / "findings" / "tiny.yaml").write_text(text)
    if numbers:
        metrics = root / "reports" / "tiny" / "metrics" / "00.json"
        metrics.parent.mkdir(parents=True)
        metrics.write_text(json.dumps(numbers))


def test_findings_of_a_notebook_are_filled_in_a_false_one_is_broken_and_what_is_none_is_named_by_its_place(root):
    study = Study.load("tiny")
    assert findings.of_notebook(study, "00_own") == []
    write(root, FINDINGS)
    with pytest.raises(FileNotFoundError):
        findings.of_notebook(study, "00_own")
    assert findings.broken(study) == []
    write(root, FINDINGS, NUMBERS)
    first, second = findings.of_notebook(study, "00_own")
    assert first == ("MHS gains +0.3 points, at worst −1.2 and 0.0; undecided for 60.", True, "")
    assert (second.text, second.holds) == ("It has 75.1.", False)
    [title] = findings.of_notebook(study, "00_own", figure="0.1")
    assert (title.title, title.holds) == ("Of 237 questions", False)
    no_longer = "00_own: no longer follows from the numbers: "
    assert findings.broken(study) == [no_longer + "It has 75.1.", no_longer + "Of 237 questions"]
    write(root, FINDINGS.replace("00_own", "00_oven"))
    assert findings.broken(study) == ["00_oven: findings of no page"]
    items = ["- say: x", "- x", "{say: x, holds: y}", "- {say: '{nothing}', holds: 1 < 2}"]
    for item in [*items, *(f'- {{say: x, holds: "{condition}"}}' for condition in NO_CONDITION)]:
        write(root, f"00_own:\n  {item}\n")
        with pytest.raises(ValueError, match=r"tiny.yaml: 00_own, finding 1: "):
            findings.of_notebook(study, "00_own")


def test_a_finding_over_texts_is_left_out_where_they_are_not_at_hand(root):
    study = Study.load("tiny")
    shared = 'd["texts: in train: test"].questions'
    items = [{"say": f"It shares {{{shared}:.0f}} questions.", "holds": f"{shared} == 0"}]
    items.append({"say": "All is well.", "holds": "1 < 2"})
    write(root, json.dumps({"00_own": items}), {"mhs/3h1": {"MAP": 75.1}})
    assert [finding.text for finding in findings.of_notebook(study, "00_own")] == ["All is well."]
    numbers = root / "reports" / "tiny" / "metrics" / "00.json"
    numbers.write_text(json.dumps({"texts: in train: test": {"questions": 2}}))
    first, _ = findings.of_notebook(study, "00_own")
    assert (first.text, first.holds) == ("It shares 2 questions.", False)
