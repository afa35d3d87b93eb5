import io
import re

import numpy
import pandas
from matplotlib.colors import to_rgb
from PIL import Image

from as2lib.report import figures


def differences() -> pandas.DataFrame:
    columns = {"difference": [1.0, -2.0], "low": [0.2, -3.5], "high": [1.8, -0.5], "published": [1.7, float("nan")]}
    return pandas.DataFrame(columns, index=["MHS − base", "MHS − teacher"])


def test_the_same_figure_is_the_same_bytes_without_a_date():
    drawings = []
    for _ in range(2):
        figure = figures.forest(differences(), "Differences", "points of MAP")
        drawings.append((figures.as_svg(figure, "figure-1", "Figure 1", "low < high & so on"), figures.as_png(figure)))
    assert drawings[0] == drawings[1]
    svg = drawings[0][0]
    assert "MHS − teacher</text>" in svg  # which a search finds
    assert "low &lt; high &amp; so on" in svg
    assert not re.search(r"20\d\d-\d\d-\d\d", svg)


def test_a_frontier_shows_every_named_system_with_its_whole_spread():
    named = pandas.DataFrame({"cost": [1, 2, 3, 4], "value": [70.0, 71.0, 71.1, 72.0], "spread": [2.0, 0.1, 0.1, 3.0]})
    named = named.assign(front=True, group="heads", label=[f"system {i}" for i in range(4)], band=1.0)
    others = pandas.DataFrame({"cost": [0, 20], "value": [30.0, 40.0], "label": ["nothing learnt", ""]})
    points = pandas.concat([named, others.assign(front=False, spread=0.0, group="trivial")])
    figure = figures.frontier(points, "Title", "cost", "MAP (%)")
    [axes] = figure.axes
    low, high = axes.get_ylim()
    assert 60 < low < 68
    assert high > 75
    heights = [text.get_position()[1] for text in axes.texts if "system" in text.get_text()]
    assert abs(heights[2] - heights[1]) > 0.05 * (high - low)  # neither name covers the other
    assert any("nothing learnt, 30.0" in text.get_text() for text in figure.legends[0].texts)


def test_panels_share_an_axis_and_say_their_questions():
    counts = {"wins": 3, "losses": 2, "ties": 5, "seeds": 3}
    panels = {"WikiQA": differences().assign(**counts), "SelQA": differences().assign(**counts) / 2}
    one, two = figures.forest(panels, "MHS", margin=0.8, subject="MHS").axes
    assert one.get_xlim() == two.get_xlim()
    assert one.get_title("left") == "WikiQA\n10 questions, 3 seeds"
    assert "+1.0 (+0.2 to +1.8)" in [text.get_text() for text in one.texts]
    assert figures.forest(differences()[:0], "none") is None


def test_a_difference_of_one_seed_has_the_interval_over_questions_in_a_lighter_colour():
    one_seed = differences().assign(low=[float("nan"), -3.5])
    one_seed[["questions low", "questions high"]] = [[0.25, 1.5], [-2.5, -1.5]]
    [axes] = figures.forest(one_seed, "Differences", "points of MAP").axes
    both, questions = axes.containers
    assert "questions alone" in questions.get_label()
    assert "questions and seeds" in both.get_label()
    [[segment]] = [bar.get_segments() for bar in questions.lines[2]]
    assert segment[:, 0].tolist() == [0.25, 1.5]


def test_a_png_of_few_colours_has_that_of_every_group():
    groups = ["heads", "teacher", "one teacher", "ensemble", "labels only", "cascade", "Cosinet"]
    table = pandas.DataFrame({"MAP": range(len(groups)), "MAP ±": 0.5, "group": groups}, index=groups)
    png = figures.as_png(figures.dots(table, "MAP", "group", "Title", "MAP (%)", ("none", 0.5)))
    pixels = numpy.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float).reshape(-1, 3)
    for group in groups:
        colour = 255 * numpy.array(to_rgb(figures.PALETTE[figures.GROUPS[group]]))
        assert abs(pixels - colour).max(axis=1).min() < 20, group
