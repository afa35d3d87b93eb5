"""Every notebook on studies of several shapes, over invented scores; the whole shape stands in test_pages."""

import re

import matplotlib
import pytest

from tests.invented import invent, run_all, whole

matplotlib.use("agg")
SHAPES = {
    "one seed": {"seeds": [0], "cosinet.seeds": [0], "mhs.heads": []},
    "no ablations": {"cascade.ablations": False, "govern.ablation": None, "data.transfer": {"train": "transfer.tsv"}},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_notebook_runs_reads_only_runs_on_its_list_and_says_no_nan(shape, root, monkeypatch):
    study = whole(root, **SHAPES[shape])
    monkeypatch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
    monkeypatch.setattr("as2lib.report.figures.as_svg", lambda *_: '<svg width="1pt"></svg>')
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)  # test_pages draws every figure
    invent(study)
    for planned, read, said, _ in run_all(study, monkeypatch):
        assert read <= set(planned.runs), f"{planned.name} reads {sorted(read - set(planned.runs))}"
        assert not re.search(r"\bnan\b", said), f"{planned.name}: {said}"
