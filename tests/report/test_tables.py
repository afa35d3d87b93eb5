import numpy
import pandas
import pytest

from as2lib.report.tables import as_latex, cell, formatted, labelled, styled

LABELS = {"mhs/3h1": "MHS", "base/electra": "untaught base"}


def results() -> pandas.DataFrame:
    columns = {"MAP": [75.04, 70.0], "MAP ±": [0.4, numpy.nan], "seeds": [3, 1], "published MAP": [91.5, numpy.nan]}
    return pandas.DataFrame(columns, index=pandas.Index(["mhs/3h1", "base/electra"], name="run"))


def test_a_run_is_shown_by_its_label_and_a_mean_with_its_spread():
    shown = formatted(results(), LABELS)
    assert shown["system"].tolist() == ["MHS", "untaught base"]
    assert shown["MAP"].tolist() == ["75.0 ± 0.4", "70.0"]
    assert "MAP ±" not in shown


def test_a_pair_of_runs_is_shown_as_a_difference():
    pairs = pandas.MultiIndex.from_tuples([("mhs/3h1", "base/electra")])
    tests = pandas.DataFrame({"difference": [-0.04]}, index=pairs)
    shown = formatted(tests, LABELS)
    assert shown.iloc[0].tolist() == ["MHS − untaught base", "0.0"]
    assert shown.columns[0] == "comparison"
    assert labelled(tests, LABELS).index.tolist() == ["MHS − untaught base"]


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (numpy.nan, "MAP", "–"),
        (pandas.NA, "row", "–"),
        (-1.26, "difference", "−1.3"),
        (0.0004, "p", "< 0.001"),
        (0.0004, "Wilcoxon p Holm", "< 0.001"),
        (19_165_058, "parameters", "19.2 M"),
        (0.2605, "cost ×", "0.26"),
        (12345.0, "pairs", "12,345"),
        (numpy.True_, "front", "yes"),
    ],
)
def test_a_cell_reads_as_its_column_wants(value, column, text):
    assert cell(value, column) == text


def test_texts_cannot_become_markup():
    table = pandas.DataFrame({"MAP": [1.0]}, index=pandas.Index(["<b>x</b> & y"], name="run"))
    html = styled(formatted(table, {}), "", "t").to_html()
    assert "<b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt; &amp; y" in html
    assert r"\&" in as_latex(formatted(table, {}), "100 % of A & B", "t")
