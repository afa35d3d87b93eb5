import re

import pandas
import pytest
from matplotlib.text import Text

from as2lib.report import figures


def differences() -> pandas.DataFrame:
    columns = {"difference": [1.0, -2.0], "low": [0.2, -3.5], "high": [1.8, -0.5], "published": [1.7, float("nan")]}
    return pandas.DataFrame(columns, index=["MHS − base", "MHS − teacher"])


def test_the_same_figure_is_the_same_bytes():
    drawings = []
    for _ in range(2):
        figure = figures.forest(differences(), "Differences", "points of MAP", mark="published")
        drawings.append((figures.as_svg(figure, "figure-1", "Figure 1", "a caption"), figures.as_png(figure)))
        figures.pyplot.close(figure)
    assert drawings[0] == drawings[1]


def test_an_svg_says_what_it_is_and_holds_no_date():
    figure = figures.forest(differences(), "Differences", "points of MAP")
    svg = figures.as_svg(figure, "figure-1", "Figure 1", "low < high & so on")
    figures.pyplot.close(figure)
    assert "<title id=" in svg
    assert "low &lt; high &amp; so on" in svg
    assert not re.search(r"20\d\d-\d\d-\d\d", svg)


@pytest.mark.parametrize("spread", [float("nan"), 0.4])
def test_a_system_with_one_seed_is_drawn_too(spread):
    table = pandas.DataFrame({"MAP": [70.0], "MAP ±": [spread], "group": ["student"]}, index=["MHS"])
    figure = figures.dots(table, "MAP", "group", "Systems", "MAP (%)", ("WO+RR", 60.0))
    assert figures.as_png(figure).startswith(b"\x89PNG")
    figures.pyplot.close(figure)


def test_a_heatmap_shows_undefined_values_as_gaps():
    table = pandas.DataFrame({"a": [1.0, float("nan")], "b": [0.5, 0.2]}, index=["head 1", "head 2"])
    figure = figures.heatmaps({"ours": table, "none": table * float("nan")}, "teacher", "head")
    assert figures.as_png(figure).startswith(b"\x89PNG")
    figures.pyplot.close(figure)


def test_a_heatmap_names_every_row_and_column_however_long():
    teachers = ["own large teacher (MiniLM-SelQA-TREC)", "MiniLM-SelQA teacher", "MiniLM-SelQA-WikiQA teacher"]
    heads = [f"head taught by the {teacher}" for teacher in teachers] + ["untaught base", "word overlap (WO)"]
    table = pandas.DataFrame(0.5, heads, teachers)
    titles = ["correct top candidates shared\n(Figure 3)", "top candidates:\nCohen's kappa", "a", "b"]
    figure = figures.heatmaps(dict.fromkeys(titles, table), "teacher", "")
    assert [len(axes.get_xticklabels()) for axes in figure.axes] == [3] * 4
    figures.pyplot.close(figure)


def test_long_names_of_points_stay_within_the_axes():
    costs = [0.5, 0.75, 1.0, 2.0]
    labels = [
        "",
        "Compare-Aggregate keeps 3, then the large model",
        "untaught base",
        "own large teacher (MiniLM-SelQA)",
    ]
    points = pandas.DataFrame({"cost": costs, "value": [70.0, 80.0, 76.0, 81.0], "label": labels})
    points = points.assign(kind="one encoder", front=True, share=50.0)
    figure = figures.frontier(points, {"one encoder": "s"}, ("nothing learnt", 68.0), "Title", "cost", "MAP (%)")
    [axes] = figure.axes
    frame = axes.get_window_extent()
    for note in axes.texts:
        box = Text.get_window_extent(note)
        assert frame.contains(box.x0, box.y0), note.get_text()
        assert frame.contains(box.x1, box.y1), note.get_text()
    figures.pyplot.close(figure)
