from types import SimpleNamespace

import pytest

from as2lib import Study
from as2lib.papers import fidelity


def row(published, computed, by="cascade cost %", digits=0, tolerance=float("nan")):
    return SimpleNamespace(published=published, computed=computed, by=by, digits=digits, tolerance=tolerance)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        (row(124, 124.4), fidelity.AGREES),
        (row(124, 124.6), fidelity.DIFFERS),
        (row(124, 124.6, tolerance=fidelity.SIZE_TOLERANCE), fidelity.LOOSELY),
        (row(2.7, 2.84, digits=1, tolerance=10), fidelity.LOOSELY),  # and its tolerance is shown
        (row(1, float("nan")), fidelity.NOT_HERE),
    ],
)
def test_a_number_agrees_within_its_last_digit_or_its_tolerance(values, state):
    assert fidelity.state(values) == state


def test_every_number_is_computed_or_needs_a_set_that_is_not_here_and_what_differs_stands_first_with_a_note(root):
    study = Study.load("tiny")
    study.store.find = lambda name, model=False: None  # nothing has been run
    table = fidelity.numbers(study)
    absent = table[table["state"] == fidelity.NOT_HERE]
    assert absent["quantity"].str.contains("test|dev|train", regex=True).all()
    assert table["computed"].notna().sum() + len(absent) == len(table)
    differs = table["state"] == fidelity.DIFFERS
    assert differs.iloc[: differs.sum()].all()
    assert (table[differs]["note"] != "").all()
    computed = table.set_index("quantity")["computed"]
    assert computed["CERBERUS B11 3H1: parameters (M)"] == pytest.approx(124.8, abs=0.1)
    assert computed["CA: parameters (M)"] == pytest.approx(2.89, abs=0.005)
    assert computed["CERBERUS has 64 % fewer parameters than RoBERTa-LARGE"] == pytest.approx(64.9, abs=0.1)
    assert computed["cost of SR at alpha 0.3 (%)"] == pytest.approx(53.6, abs=0.1)
