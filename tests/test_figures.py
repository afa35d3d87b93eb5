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


@pytest.mark.parametrize("dear", [True, False])
def test_a_frontier_joins_the_front_and_draws_none_where_a_ranker_that_costs_nothing_is_the_best(dear):
    points = pandas.DataFrame({"kind": ["one encoder", "heads"], "cost": [1.0, 2.0], "value": [50.0, 60.0]})
    points = points.assign(front=[False, dear], share=[0.0, 10.0])
    marks = {"one encoder": "o", "heads": "s"}
    axes = figures.frontier(points, marks, "Accuracy", "operations", "MAP (%)", ("WO+RR", 70.0)).axes[0]
    assert [line.get_label() for line in axes.lines] == ["WO+RR", *["Pareto front"] * dear]
    assert [points.get_offsets().tolist() for points in axes.collections if len(points.get_offsets())] == [
        [[1, 50]],
        [[2, 60]],
    ]


def test_ratios_draw_a_marker_a_column_on_a_logarithmic_axis():
    table = pandas.DataFrame({"operations": [1.0, 3.0], "time": [1.0, float("nan")]}, index=["base", "ensemble"])
    axes = figures.ratios(table, "Cost", "times base").axes[0]
    assert axes.get_xscale() == "log"
    assert [points.get_label() for points in axes.collections] == ["operations", "time"]
    assert axes.collections[0].get_offsets().tolist() == [[1, 0], [3, 1]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["base", "ensemble"]
