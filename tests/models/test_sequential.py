import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

from as2lib.metrics import cost, pruning
from as2lib.metrics.questions import Questions
from as2lib.metrics.replay import replay
from as2lib.models.sequential import rankings


def ranked(columns, alpha, question=None):
    """The rankings by stages that each read a column of log odds."""
    question = Questions.anywhere(question or [0] * len(columns[0])).code
    columns = numpy.array(columns, dtype=float)
    return rankings(pruning.prune(lambda stage, rows: columns[stage][rows], len(columns), question, alpha), question)


def test_the_rule_worked_by_hand_where_those_dropped_later_stand_before_those_dropped_earlier():
    cheap, dear = [0.9, 0.1, 0.5, 0.7, 0.3], [0.2, 0.99, 0.8, 0.6, 0.95]
    [ranking] = ranked([cheap, dear], 0.4)  # drops floor(0.4 · 5) = 2: candidates 4 and 1
    assert ranking.order.tolist() == [2, 3, 0, 4, 1]
    assert logit(ranking.stage_scores.numpy()).tolist() == pytest.approx([0.2, 0.1, 0.8, 0.6, 0.3])
    assert ranking.stages.tolist() == [1, 0, 1, 1, 0]
    # 0.2 is the lowest that was kept: 0.3 and 0.1, which fell before, go 0.1 down together, and the gap
    assert ranking.log_odds.tolist() == pytest.approx([0.2, -1e-6, 0.8, 0.6, 0.2 - 1e-6], abs=1e-12)
    [ranking] = ranked([[4, 3, 2, 1], [1, 2, 9, 9], [5, 5, 5, 5]], [0.25, 0.4])
    assert ranking.order.tolist() == [1, 2, 0, 3]


def test_the_floor_is_of_the_product_as_written():
    assert pruning.dropped(100, 0.29) == 29
    assert pruning.dropped(2, 0.3) == 0


@pytest.mark.parametrize("size", [1, 7, 13, 130])
def test_equal_logits_are_equal_probabilities_wherever_they_stand_and_none_rises(size):
    draw = numpy.random.default_rng(size)
    for _ in range(50):
        odds = draw.normal()
        [equal] = ranked([[odds] * size], 0.0)
        assert len(set(equal.scores.tolist())) == 1
        [near] = ranked([odds + numpy.spacing(odds) * draw.integers(0, 4, size)], 0.0)
        assert (near.scores[near.order].diff() <= 0).all()


@settings(max_examples=100)
@given(st.data())
def test_order_is_that_of_the_replay_of_stored_scores(data):
    stages = data.draw(st.integers(1, 4))
    question = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=25))
    values = st.lists(st.integers(0, 3), min_size=len(question), max_size=len(question))  # many ties
    columns = [data.draw(values) for _ in range(stages)]
    alpha = data.draw(st.lists(st.floats(0, 0.99), min_size=stages - 1, max_size=stages - 1))
    replayed = replay(question, numpy.zeros(len(question)), numpy.array(columns).T, alpha)
    for name, ranking in zip(dict.fromkeys(question), ranked(columns, alpha, question), strict=True):
        own = [row for row, other in enumerate(question) if other == name]
        assert replayed.position[own][ranking.order.numpy()].tolist() == list(range(len(own)))
        assert ranking.stages.tolist() == replayed.last[own].tolist()
        reached = [int((ranking.stages >= stage).sum()) for stage in range(stages)]
        assert reached == cost.survivors(stages, alpha, len(own))
        falling, by_stage = ranking.scores[ranking.order], ranking.stages[ranking.order]
        assert (falling.diff() <= 0).all()
        assert (falling.diff()[by_stage.diff() < 0] < 0).all()  # a dropped candidate is below every kept one
        last = ranking.stages == stages - 1
        assert torch.equal(ranking.scores[last], ranking.stage_scores[last])
