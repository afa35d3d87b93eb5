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
    points = pandas.DataFrame({"cost": range(1, count + 2), "value": [70.0 + i for i in range(count)] + [40.0]})
    points = points.assign(front=True, label=[f"system {i}" for i in range(count)] + [""])
    [axes] = figures.frontier(points, ("nothing learnt", baseline), "Title", "cost", "MAP (%)").axes
    named = [line for line in axes.lines if line.get_label().startswith("system")]
    assert len({(line.get_color(), line.get_marker()) for line in named}) == count
    assert axes.get_ylim()[0] > 60
    assert (axes.get_ylim()[0] < baseline) == visible
