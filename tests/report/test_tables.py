import numpy
import pandas
import pytest

from as2lib.report.tables import cell, formatted


def test_a_run_is_shown_by_its_label_and_a_mean_with_its_spread():
    labels = {"mhs/3h1": "MHS", "base/electra": "labels-only student"}
    columns = {"MAP": [75.04, 70.0], "MAP ±": [0.4, numpy.nan], "P@1": [75.04, 70.0], "P@1 ±": [0.04, 0.0]}
    shown = formatted(pandas.DataFrame(columns, index=pandas.Index([*labels], name="run")), labels)
    assert shown["system"].tolist() == ["MHS", "labels-only student"]
    assert shown["MAP"].tolist() == ["75.0 ± 0.4", "70.0"]
    assert shown["P@1"].tolist() == ["75.0 ± < 0.1", "70.0 ± 0.0"]  # a small spread is none that is zero
    assert "MAP ±" not in shown


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (numpy.nan, "MAP", "–"),
        ("", "verdict", "–"),
        (-1.26, "difference", "−1.3"),
        (-0.046, "low", "−0.0"),
        (1.26, "high", "+1.3"),
        (0.0, "difference", "0.0"),
        (0.0004, "Wilcoxon p Holm", "< 0.001"),
        (19_165_058, "parameters", "19.2 M"),
        (0.2605, "cost ×", "0.26"),
        (12345.0, "pairs", "12,345"),
        (numpy.True_, "front", "yes"),
    ],
)
def test_a_cell_reads_as_its_column_wants(value, column, text):
    assert cell(value, column) == text


def test_pairs_have_their_usual_columns_and_what_is_joined_to_systems_has_all():
    compared = pandas.DataFrame({"difference": [1.0], "low": [0.5], "high": [1.5], "p": [0.01], "smallest seen": [2.0]})
    pairs = compared.set_index(pandas.MultiIndex.from_tuples([("a", "b")]))
    assert [*formatted(pairs, {})] == ["comparison", "difference", "low", "high", "smallest seen"]
    assert {"prAUC", "p"} <= {*formatted(compared.assign(prAUC=60.0).set_index(pandas.Index(["a"], name="run")), {})}
