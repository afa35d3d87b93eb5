import numpy
import pandas
import pytest

from as2lib.report.tables import as_latex, best, cell, formatted, labelled, styled

LABELS = {"mhs/3h1": "MHS", "base/electra": "untaught base"}


def results() -> pandas.DataFrame:
    columns = {
        "MAP": [75.04, 70.0],
        "MAP ±": [0.4, numpy.nan],
        "P@1": [75.04, 70.0],
        "P@1 ±": [0.04, 0.0],
        "seeds": [3, 1],
        "published MAP": [91.5, numpy.nan],
    }
    return pandas.DataFrame(columns, index=pandas.Index(["mhs/3h1", "base/electra"], name="run"))


def test_a_run_is_shown_by_its_label_and_a_mean_with_its_spread():
    shown = formatted(results(), LABELS)
    assert shown["system"].tolist() == ["MHS", "untaught base"]
    assert shown["MAP"].tolist() == ["75.0 ± 0.4", "70.0"]
    assert shown["P@1"].tolist() == ["75.0 ± 0.04", "70.0 ± 0.0"]  # a small spread is none that is zero
    assert "MAP ±" not in shown


def test_a_pair_of_runs_is_shown_as_a_difference():
    pairs = pandas.MultiIndex.from_tuples([("mhs/3h1", "base/electra")])
    tests = pandas.DataFrame({"difference": [-0.04]}, index=pairs)
    shown = formatted(tests, LABELS)
    assert shown.iloc[0].tolist() == ["MHS − untaught base", "−0.04"]
    assert shown.columns[0] == "comparison"
    assert labelled(tests, LABELS).index.tolist() == ["MHS − untaught base"]


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (numpy.nan, "MAP", "–"),
        (pandas.NA, "row", "–"),
        ("", "verdict", "–"),
        (-1.26, "difference", "−1.3"),
        (-0.046, "low", "−0.05"),
        (0.0004, "questions high", "0.0004"),
        (0.0, "difference", "0.0"),
        (0, "difference", "0"),
        (-0.0000001, "difference", "0.0000"),
        (0.0004, "p", "< 0.001"),
        (0.0004, "Wilcoxon p Holm", "< 0.001"),
        (19_165_058, "parameters", "19.2 M"),
        (61_234, "parameters", "61 k"),
        (0, "parameters", "0"),
        (0.2605, "cost ×", "0.26"),
        (12345.0, "pairs", "12,345"),
        (numpy.True_, "front", "yes"),
    ],
)
def test_a_cell_reads_as_its_column_wants(value, column, text):
    assert cell(value, column) == text


def test_a_column_without_any_value_is_left_out_and_the_interval_over_questions_stands_for_that_over_seeds():
    nothing = [numpy.nan] * 2
    table = results().assign(note="", low=nothing, high=nothing, **{"questions low": [1.0, 2.0], "questions high": 3.0})
    shown = formatted(table, LABELS, ["MAP", "low", "high", "note", "questions low"])
    assert shown.columns.tolist() == ["system", "MAP", "questions low", "questions high"]
    assert formatted(table.assign(low=[0.5, numpy.nan]), LABELS, ["low"])["low"].tolist() == ["0.5", "–"]
    assert formatted(table[["low"]], LABELS, ["low"]).columns.tolist() == ["system", "low"]
    empty = formatted(table.iloc[:0], LABELS, ["MAP", "low"])
    assert empty.columns.tolist() == ["system", "MAP", "low"]
    assert "MAP" in styled(empty, "", "t").to_html()


def test_words_stand_left_though_they_begin_with_a_digit_and_numbers_right():
    table = pandas.DataFrame({"stands for": ["11 layers", ""], "MAP": ["61.2 ± 0.4", "–"], "p": ["< 0.001", ""]})
    table.insert(0, "system", ["a", "b"])
    assert "{lrr}" not in as_latex(table, "", "t")
    assert "{llrr}" in as_latex(table, "", "t")
    assert ".col0 {" in styled(table, "", "t").to_html()
    assert ".col1 {" not in styled(table, "", "t").to_html()


def test_texts_cannot_become_markup():
    table = pandas.DataFrame({"MAP": [1.0]}, index=pandas.Index(["<b>x</b> & y"], name="run"))
    html = styled(formatted(table, {}), "", "t").to_html()
    assert "<b>" not in html
    assert "&lt;b&gt;x&lt;/b&gt; &amp; y" in html
    assert r"\&" in as_latex(formatted(table, {}), "100 % of A & B", "t")


def test_the_best_accuracy_of_a_column_is_bold_and_no_published_one():
    table = pandas.DataFrame(
        {"MAP": [70.0, 72.0, 71.0], "published MAP": [9.0, 1.0, 2.0], "seeds": [1, 2, 3]}, ["a", "b", "c"]
    )
    assert best(table) == {"MAP": 1}
    html = styled(formatted(table, {}), "", "t", bold=best(table)).to_html()
    assert html.count("font-weight: bold") == 1
    assert best(table[:2]) == {}  # of two, one sees it
