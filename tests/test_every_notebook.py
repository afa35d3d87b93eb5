"""Every notebook on a study with as little as may be, over invented scores; the whole shape stands in test_pages."""

import re

import matplotlib

from tests.invented import invent, run_all, whole, without_drawing
from tests.test_sentences import NOBODY_SAYS

matplotlib.use("agg")
LEAN = {  # one seed, heads of one shape, no ablation, no test set of the transfer set
    "seeds": [0],
    "cosinet.seeds": [0],
    "mhs.heads": [],
    "cascade.ablations": False,
    "govern.ablation": None,
    "data.transfer": {"train": "transfer.tsv"},
}


def test_every_notebook_of_a_lean_study_without_a_difference_says_what_a_person_would(root, monkeypatch):
    """Every system ranks perfectly: all differences are zero, and many a number is not defined."""
    study, said = whole(root, **LEAN), []
    monkeypatch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
    without_drawing(monkeypatch)
    invent(study, perfect=lambda run: True)
    for planned, read, text, _ in run_all(study, monkeypatch):
        assert read <= set(planned.runs), f"{planned.name} reads {sorted(read - set(planned.runs))}"
        said += [(planned.name, sentence) for sentence in text.splitlines()]
    assert len(said) > 80
    for name, sentence in said:
        for what, pattern in NOBODY_SAYS.items():
            found = re.search(pattern, sentence)
            assert not found, f"{name} has {what}, “{found[0]}”: {sentence}"
