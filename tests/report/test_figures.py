import re

import pandas
import pytest

from as2lib.report import figures


def differences() -> pandas.DataFrame:
    columns = {"difference": [1.0, -2.0], "low": [0.2, -3.5], "high": [1.8, -0.5], "published": [1.7, float("nan")]}
    return pandas.DataFrame(columns, index=["MHS − base", "MHS − teacher"])


@pytest.fixture(autouse=True)
def closed():
    yield
    figures.pyplot.close("all")


def test_the_same_figure_is_the_same_bytes_without_a_date():
    drawings = []
    for _ in range(2):
        figure = figures.forest(differences(), "Differences", "points of MAP", mark="published")
        drawings.append((figures.as_svg(figure, "figure-1", "Figure 1", "low < high & so on"), figures.as_png(figure)))
    assert drawings[0] == drawings[1]
    svg = drawings[0][0]
    assert "<title id=" in svg
    assert "low &lt; high &amp; so on" in svg
    assert not re.search(r"20\d\d-\d\d-\d\d", svg)


@pytest.mark.parametrize(("baseline", "visible"), [(68.0, True), (30.0, False)])
def test_named_systems_of_a_frontier_have_colours_of_their_own_and_its_axis_begins_where_they_are(baseline, visible):
    count = 14
    named = pandas.DataFrame({"cost": range(1, count + 1), "value": [70.0 + i for i in range(count)]})
    named = named.assign(front=True, main=named["cost"] > 5, label=[f"system {i}" for i in range(count)])
    others = pandas.DataFrame({"cost": [0, 20], "value": [baseline, 40.0], "label": ["nothing learnt", ""]})
    points = pandas.concat([named, others.assign(front=False, main=False)])
    [axes] = figures.frontier(points, "Title", "cost", "MAP (%)").axes
    lines = [line for line in axes.lines if "system" in line.get_label()]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == (named["main"]).sum() + 1
    assert axes.get_ylim()[0] > 55
    assert (axes.get_ylim()[0] < baseline) == visible
    assert any("nothing learnt: 30.0" in text.get_text() for text in axes.texts) != visible


def test_numbers_beside_points_of_one_place_stand_apart():
    points = pandas.DataFrame({"cost": [1, 1, 2], "value": [70.0, 70.0, 80.0], "label": ["a", "b", "c"]})
    [axes] = figures.frontier(points.assign(front=False, main=True), "Title", "cost", "MAP (%)").axes
    offsets = {text.get_text(): text.xyann for text in axes.texts}
    assert abs(offsets["1"][1] - offsets["2"][1]) >= 8


def test_a_difference_of_one_seed_has_the_interval_over_questions_in_a_lighter_colour():
    one_seed = differences().assign(low=[float("nan"), -3.5])
    one_seed[["questions low", "questions high"]] = [[0.5, 1.5], [-2.5, -1.5]]
    [axes] = figures.forest(one_seed, "Differences", "points of MAP").axes
    both, questions = axes.containers
    assert "questions alone" in questions.get_label()
    assert "questions and seeds" in both.get_label()
    [[segment]] = [bar.get_segments() for bar in questions.lines[2]]
    assert segment[:, 0].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(("largest", "ticks"), [(1.6, 4), (40.0, 4)])
def test_a_logarithmic_axis_has_ticks_to_read_below_a_decade_too(largest, ticks):
    figure = figures.ratios(pandas.DataFrame({"time": [0.9, largest]}, index=["a", "b"]), "Ratios", "times")
    [axes] = figure.axes
    low, high = axes.get_xlim()
    assert sum(low <= tick <= high for tick in axes.get_xticks()) >= ticks


def test_counts_have_whole_ticks():
    curve = pandas.DataFrame({"teachers": [1, 2, 3, 4], "MAP": [1.0, 2.0, 3.0, 4.0], "system": "vote"})
    [axes] = figures.lines(curve, "teachers", "MAP", "system", "Title", "teachers", "MAP (%)").axes
    assert {float(tick) for tick in axes.get_xticks()} >= {1.0, 2.0, 3.0, 4.0}
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
