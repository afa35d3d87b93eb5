import re

import pandas
import pytest
from matplotlib.text import Text

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


@pytest.mark.parametrize("spread", [float("nan"), 0.4])
def test_a_system_with_one_seed_is_drawn_too(spread):
    table = pandas.DataFrame({"MAP": [70.0], "MAP ±": [spread], "group": ["student"]}, index=["MHS"])
    figure = figures.dots(table, "MAP", "group", "Systems", "MAP (%)", ("WO+RR", 60.0))
    assert figures.as_png(figure).startswith(b"\x89PNG")


def test_a_heatmap_names_every_column_however_long_and_undefined_values_are_gaps():
    teachers = ["own large teacher (MiniLM-SelQA-TREC)", "MiniLM-SelQA teacher", "MiniLM-SelQA-WikiQA teacher"]
    heads = [f"head taught by the {teacher}" for teacher in teachers] + ["untaught base", "word overlap (WO)"]
    table = pandas.DataFrame(0.5, heads, teachers)
    table.iloc[0, 0] = float("nan")
    titles = ["correct top candidates shared\n(Figure 3)", "top candidates:\nCohen's kappa", "a"]
    figure = figures.heatmaps(dict.fromkeys(titles, table) | {"none": table * float("nan")}, "teacher", "")
    assert figures.as_png(figure).startswith(b"\x89PNG")
    assert [len(axes.get_xticklabels()) for axes in figure.axes] == [3] * 4


def test_long_names_of_points_stay_within_the_axes():
    costs = [0.5, 0.75, 1.0, 2.0]
    labels = ["", "Compare-Aggregate keeps 3, then the large model", "untaught base", "own large teacher (MiniLM)"]
    points = pandas.DataFrame({"cost": costs, "value": [70.0, 80.0, 76.0, 81.0], "label": labels})
    points = points.assign(kind="one encoder", front=True, share=50.0)
    figure = figures.frontier(points, {"one encoder": "s"}, ("nothing learnt", 68.0), "Title", "cost", "MAP (%)")
    [axes] = figure.axes
    frame = axes.get_window_extent()
    for note in axes.texts:
        box = Text.get_window_extent(note)
        assert frame.contains(box.x0, box.y0), note.get_text()
        assert frame.contains(box.x1, box.y1), note.get_text()
