import io
import re

import numpy
import pandas
import pytest
import seaborn
from matplotlib import pyplot
from matplotlib.text import Text
from PIL import Image

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
    points = points.assign(front=[False, dear], share=[0.0, 10.0], label=["", "MHS"])
    marks = {"one encoder": "o", "heads": "s"}
    axes = figures.frontier(points, marks, ("WO+RR", 70.0), "Accuracy", "operations", "MAP (%)").axes[0]
    assert [line.get_label() for line in axes.lines] == ["WO+RR", *["Pareto front"] * dear]
    assert [points.get_offsets().tolist() for points in axes.collections if len(points.get_offsets())] == [
        [[1, 50]],
        [[2, 60]],
    ]


def test_a_frontier_names_points_inside_its_frame_beside_each_other_and_draws_none_through():
    points = pandas.DataFrame({"cost": [1.0, 1.0, 1.01, 5.0], "value": [70.0, 70.1, 70.0, 72.0], "front": False})
    names = ["", "the base model", "the heads of a student", "a large model, then another"]
    points = points.assign(kind=["many", "many", "few", "few"], share=[0.0, 10.0, 20.0, 100.0], label=names)
    figure = figures.frontier(points, {"many": "o", "few": "s"}, ("WO+RR", 69.0), "Title", "operations", "MAP (%)")
    axes = figure.axes[0]
    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.texts] == names[1:]
    boxes, frame = [Text.get_window_extent(text) for text in axes.texts], axes.get_window_extent()
    assert all(frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1) for box in boxes)
    assert not any(box.count_overlaps(boxes[:i]) for i, box in enumerate(boxes))
    places = axes.transData.transform(points[["cost", "value"]])
    assert not any(box.count_contains(places) for box in boxes)
    drawn = [one for one in axes.collections if len(one.get_offsets())]
    assert all((one.get_facecolors()[:, 3] == 1).all() for one in drawn)
    assert drawn[-1].get_facecolors()[-1][:3].tolist() == pytest.approx(list(figures.PALETTE[1]))


def test_no_other_point_lies_between_a_label_and_its_own():
    costs, values = [0.05, 0.198, 0.2, 0.225, 0.227, 0.355, 0.355, 5.0], [75, 77.35, 77.0, 76.4, 77.1, 78, 76.8, 81]
    points = pandas.DataFrame({"cost": costs, "value": values, "kind": "many", "share": 50.0, "label": ""})
    points = points.assign(front=[True, True, False, False, False, True, False, True])
    points.loc[4, "label"] = "CA list + LSTM"  # on its right the front, on its left a point of the front
    axes = figures.frontier(points, {"many": "o"}, ("WO+RR", 68.0), "Title", "operations", "MAP (%)").axes[0]
    box, places = Text.get_window_extent(axes.texts[0]), axes.transData.transform(points[["cost", "value"]])
    own, others = places[4], numpy.delete(places, 4, axis=0)
    arrow = numpy.linspace(own, numpy.clip(own, box.p0, box.p1), 50)
    assert numpy.linalg.norm(others[:, None] - arrow, axis=2).min() > 6


def test_dots_draw_a_further_column_hollow_and_name_it():
    table = pandas.DataFrame(
        {"MAP": [70.0, 72.0], "MAP ±": [0.5, float("nan")], "longer": [75.0, 76.0], "longer ±": [1.0, 0.2]},
        index=["base", "large"],
    ).assign(kind=["base size", "large"])
    plain = figures.dots(table, "MAP", "kind", "Title", "MAP (%)", ("WO+RR", 68.0))
    both = figures.dots(table, "MAP", "kind", "Title", "MAP (%)", ("WO+RR", 68.0), hollow="longer")
    assert [text.get_text() for text in plain.legends[0].get_texts()] == ["base size", "large", "WO+RR"]
    assert [text.get_text() for text in both.legends[0].get_texts()] == ["base size", "large", "longer", "WO+RR"]
    marks = [line for line in both.axes[0].lines if line.get_marker() in figures.MARKERS and line.get_marker()]
    hollow = [line.get_xdata()[0] for line in marks if line.get_markerfacecolor() == "white"]
    assert hollow == [75.0, 76.0]
    assert both.axes[0].get_xlim()[1] > 76.2


def test_a_png_keeps_the_colour_of_a_single_small_marker():
    figure, axes = pyplot.subplots()
    axes.imshow(numpy.arange(256).reshape(16, 16), cmap="viridis")  # takes most of the pixels, and of the colours
    drawn = seaborn.color_palette("colorblind", 10)
    axes.scatter(range(10), [8] * 10, c=drawn, s=12, linewidths=0)
    pixels = numpy.asarray(Image.open(io.BytesIO(figures.as_png(figure))).convert("RGB"), int).reshape(-1, 3)
    for colour in drawn:
        assert numpy.abs(pixels - 255 * numpy.array(colour)).max(axis=1).min() < 12


def test_an_svg_file_names_all_that_it_uses_once_and_is_not_indented():
    table = pandas.DataFrame({"a large": [0.11, 0.22]}, index=["head 1", "head 2"])
    text = figures.as_svg(figures.heatmaps({"first": table}, "teacher", "head"), "page-1", "Title", "What it shows")
    named, used = re.findall(r'\bid="([^"]+)"', text), re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    assert set(used) <= set(named)
    assert len(set(named)) == len(named)
    assert all(one.startswith("page-1-") for one in named)
    assert not re.search(r"\n ", text.split("</desc>")[1])
