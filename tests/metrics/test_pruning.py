from itertools import product

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from as2lib.metrics.pruning import dropped, grid, replay
from as2lib.metrics.ranking import per_question


def test_the_grid_is_what_replaying_each_combination_gives():
    generator = numpy.random.default_rng(0)
    ids = generator.integers(0, 30, 360)  # the rows of a question may stand anywhere
    label = (generator.random(360) < 0.15).astype(int)
    scores = (generator.normal(size=(360, 4)) + label[:, None] * numpy.arange(4) / 2).round(1)  # with ties
    table = grid(ids, label, scores, ratios=(0.0, 0.3, 0.6))
    assert len(table) == 27
    for (_, row), alpha in zip(table.iterrows(), product((0.0, 0.3, 0.6), repeat=3), strict=True):
        assert tuple(row[["alpha_1", "alpha_2", "alpha_3"]]) == alpha
        measured = per_question(ids, label, -replay(ids, label, scores, alpha).position)
        assert row["P@1"] == pytest.approx(measured["P@1"].mean(), abs=1e-12)


@settings(max_examples=100)
@given(st.data())
def test_among_equal_scores_the_correct_candidates_fall_first_whatever_the_order_of_the_rows(data):
    few = st.integers(0, 2)
    rows = data.draw(st.lists(st.tuples(few, st.integers(0, 1), st.tuples(few, few, few)), min_size=1, max_size=20))
    question, label, scores = zip(*rows, strict=True)
    scores = numpy.array(scores)
    alpha = (0.3, 0.5)
    replayed = replay(question, label, scores, alpha)
    for name in set(question):
        own = [row for row, other in enumerate(question) if other == name]
        alive, fallen = own, []
        for stage in range(3):
            alive = sorted(alive, key=lambda row, stage=stage: (-scores[row, stage], label[row], row))
            stay = len(alive) - dropped(len(alive), alpha[stage]) if stage < 2 else len(alive)
            assert (replayed.last[alive[:stay]] >= min(stage + 1, 2)).all()
            alive, fallen = alive[:stay], alive[stay:] + fallen
        assert replayed.position[alive + fallen].tolist() == list(range(len(own)))
