"""Notebook 12 over a measurement whose answer is known: which studies have it, what it says, and that it runs."""

import json

import matplotlib
import pytest
from IPython.display import Markdown

from as2lib import Study
from as2lib.papers import left_out, notebooks
from as2lib.papers.serving import plan, tables
from tests.invented import executed

matplotlib.use("agg")
WIKIQA = {"data.target": {split: f"wikiqa:{split}" for split in ("train", "dev", "test")}}
MEASURED = {  # MAP, share of the same first candidates, pairs a second
    "cross-encoder: torch, float32": (0.700, 1.0, 100),
    "cross-encoder: openvino, int8": (0.696, 0.97, 300),
    "cross-encoder: onnx, int8": (0.694, 0.90, 400),  # the fastest, but it loses 0.6 points
    "cascade: torch, float32": (0.690, 1.0, 150),
    "cascade: onnx, float32": (0.691, 0.99, 200),
    "sentence-transformers 5.2.0: openvino, static int8": (0.695, 0.95, 250),
}


def keep(root, rows):
    (root / "reports").mkdir(exist_ok=True)
    (root / plan.KEPT).write_text(json.dumps({"serving": {"rows": rows}}))


@pytest.fixture
def measured(root):
    times = {f"ms, {count} candidates": 10.0 * count for count in (1, 10, 100)}
    fixed = {"MiB": 87.0, "pairs": 2351, "questions": 243, "processor": "a processor, 2 cores", **times}
    keep(
        root,
        {
            name: {"MAP": found, "same first as torch": same, "pairs a second": rate, **fixed}
            for name, (found, same, rate) in MEASURED.items()
        },
    )
    return root


def test_a_study_of_another_target_or_without_a_measurement_has_no_notebook_of_serving(measured):
    on_wikiqa = Study.load("tiny", WIKIQA)
    assert notebooks(on_wikiqa)[-1].name == plan.NAME
    assert plan.NAME not in left_out(on_wikiqa)
    assert plan.NAME not in [notebook.name for notebook in notebooks(Study.load("tiny"))]
    assert left_out(Study.load("tiny")).endswith("12_serving (measured on WikiQA)")
    keep(measured, {"cross-encoder: torch, float32, new classifiers": {"pairs a second": 1}})
    assert plan.NAME not in [notebook.name for notebook in notebooks(on_wikiqa)]
    assert left_out(on_wikiqa).endswith("12_serving (not measured: python -m bench serving --full)")
    with pytest.raises(ValueError, match="expected rows of `serving` with MAP, got none; measure them"):
        tables.table()


def test_the_fastest_form_is_one_that_loses_at_most_half_a_point(measured):
    rows = tables.table()
    assert rows.index.unique().tolist() == ["cross-encoder", "cascade", "sentence-transformers 5.2.0"]
    assert rows.loc["cross-encoder", "pairs a second"].tolist() == [400, 300, 100]
    best = tables.fastest(rows)
    assert best["backend"].to_dict() == {"cross-encoder": "openvino", "cascade": "onnx"}
    assert best.loc["cross-encoder", ["lost", "times"]].tolist() == pytest.approx([0.4, 3.0])
    times = "times as fast as torch in float32"
    assert tables.answer(rows) == (
        f"With at most 0.5 points of MAP lost, the fastest is OpenVINO in int8 for the cross-encoder (3.0 {times}) and "
        f"ONNX Runtime in float32 for the cascade (1.3 {times}); the most that one of them loses is 0.40 points."
    )
    assert "0.1 points of MAP above it; the first candidate is the same for 99.0 %" in tables.sentences(rows)[1]
    assert tables.sentences(rows)[2].endswith("the fastest form of each: cascade 1.50 and 0.67.")


def test_the_notebook_runs_on_the_measurement_alone(measured, monkeypatch):
    study = Study.load("tiny", WIKIQA)
    monkeypatch.setattr(Study, "load", classmethod(lambda cls, *_: study))
    monkeypatch.setattr(Study, "variant", property(lambda self: self.study))
    monkeypatch.setattr(Study, "run", lambda *_, **__: pytest.fail("reads a run"))
    names, _ = executed(plan.NAME, monkeypatch)
    folder = measured / "reports" / "tiny"
    assert len((folder / "tables" / "12_table_1.timing.csv").read_text().splitlines()) == 1 + len(MEASURED)
    assert (folder / "figures" / "12_figure_1.timing.svg").exists()
    assert json.loads((folder / "metrics" / "12.json").read_text())["answer"] == tables.answer(tables.table())
    assert isinstance(names["provenance"](study), Markdown)
