import re
from itertools import pairwise

import pandas
import pytest

from as2lib.report import figures


def differences() -> pandas.DataFrame:
    columns = {"difference": [1.0, -2.0], "low": [0.2, -3.5], "high": [1.8, -0.5], "published": [1.7, float("nan")]}
    return pandas.DataFrame(columns, index=["MHS − base", "MHS − teacher"])


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
def test_a_frontier_names_its_systems_in_their_order_and_its_axis_begins_where_they_are(baseline, visible):
    count = 14
    named = pandas.DataFrame(
        {"cost": range(1, count + 1), "value": [70.0 + 1.5 * (i // 5) + i / 100 for i in range(count)]}
    )
    named = named.assign(front=True, spread=0.1, group="heads", label=[f"system {i}" for i in range(count)])
    others = pandas.DataFrame({"cost": [0, 20], "value": [baseline, 40.0], "label": ["nothing learnt", ""]})
    points = pandas.concat([named, others.assign(front=False, spread=0.0, group="trivial")])
    [axes] = figures.frontier(points, "Title", "cost", "MAP (%)").axes
    heights = [text.xyann[1] for text in axes.texts if "system" in text.get_text()]
    assert heights == sorted(heights)
    assert min(above - below for below, above in pairwise(heights)) > 0.05  # none covers another
    assert max(heights) <= 1
    assert axes.get_ylim()[0] > 55
    assert (axes.get_ylim()[0] < baseline) == visible
    assert any("nothing learnt: 30.0" in text.get_text() for text in axes.texts) != visible


def test_a_group_has_one_colour_in_every_figure():
    table = pandas.DataFrame({"MAP": [1.0, 2.0], "MAP ±": [0.1, 0.1], "group": ["ensemble", "heads"]})
    colours = [figures.dots(rows, "MAP", "group", "", "", ("none", 0.5)).axes[0].lines for rows in (table, table[1:])]
    assert colours[0][-2].get_color() == colours[1][0].get_color()


def test_a_bar_of_verdicts_has_a_part_for_each_that_was_given():
    counts = pandas.Series({"reproduced": 2, "undecided": 3, "contradicted": 0})
    figure = figures.verdicts(counts, "Claims")
    assert [bar.get_width() for bar in figure.axes[0].patches] == [2, 3]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["2 reproduced", "3 undecided"]


def test_a_difference_of_one_seed_has_the_interval_over_questions_in_a_lighter_colour():
    one_seed = differences().assign(low=[float("nan"), -3.5])
    one_seed[["questions low", "questions high"]] = [[0.5, 1.5], [-2.5, -1.5]]
    [axes] = figures.forest(one_seed, "Differences", "points of MAP").axes
    both, questions = axes.containers
    assert "questions alone" in questions.get_label()
    assert "questions and seeds" in both.get_label()
    [[segment]] = [bar.get_segments() for bar in questions.lines[2]]
    assert segment[:, 0].tolist() == [0.5, 1.5]
