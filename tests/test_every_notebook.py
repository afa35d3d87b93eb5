"""Every notebook on a study with as little as may be, over invented scores; the whole shape stands in test_pages."""

import re

import matplotlib

from tests.invented import invent, run_all, whole

matplotlib.use("agg")
LEAN = {  # one seed, heads of one shape, no ablation, no test set of the transfer set
    "seeds": [0],
    "cosinet.seeds": [0],
    "mhs.heads": [],
    "cascade.ablations": False,
    "govern.ablation": None,
    "data.transfer": {"train": "transfer.tsv"},
}


def test_every_notebook_of_a_lean_study_reads_only_runs_on_its_list_and_says_no_nan(root, monkeypatch):
    study = whole(root, **LEAN)
    monkeypatch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
    monkeypatch.setattr("as2lib.report.figures.as_svg", lambda *_: '<svg width="1pt"></svg>')
    monkeypatch.setattr("as2lib.report.figures.as_png", lambda *_: b"")  # test_pages draws every figure
    invent(study)
    for planned, read, said, _ in run_all(study, monkeypatch):
        assert read <= set(planned.runs), f"{planned.name} reads {sorted(read - set(planned.runs))}"
        assert not re.search(r"\bnan\b", said), f"{planned.name}: {said}"
