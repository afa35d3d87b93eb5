import pandas
import pytest
from matplotlib import pyplot

from as2lib.report import figures


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def test_heatmaps_write_every_value_and_name_the_rows_once():
    table = pandas.DataFrame({"a large": [0.11, 0.22], "b large": [0.33, 0.44]}, index=["head 1", "head 2"])
    figure = figures.heatmaps({"first": table, "second": table + 0.5}, "teacher", "head")
    left, right = figure.axes
    assert [text.get_text() for text in left.texts] == ["0.11", "0.33", "0.22", "0.44"]
    assert [text.get_text() for text in right.texts] == ["0.61", "0.83", "0.72", "0.94"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["head 1", "head 2"]
    assert [label.get_text() for label in right.get_yticklabels()] == ["", ""]
    assert (left.get_title(), right.get_title()) == ("first", "second")


def test_ratios_draw_a_marker_a_column_on_a_logarithmic_axis():
    table = pandas.DataFrame({"operations": [1.0, 3.0], "time": [1.0, float("nan")]}, index=["base", "ensemble"])
    axes = figures.ratios(table, "Cost", "times base").axes[0]
    assert axes.get_xscale() == "log"
    assert [points.get_label() for points in axes.collections] == ["operations", "time"]
    assert axes.collections[0].get_offsets().tolist() == [[1, 0], [3, 1]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["base", "ensemble"]
