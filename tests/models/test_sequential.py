import numpy
import pytest
import torch

from as2lib.metrics import pruning
from as2lib.models.sequential import SequentialReranker, rank_by_stages


def reading(*columns):
    """A reranker whose scorers each read a column of the batch."""
    return SequentialReranker([lambda batch, name=name: batch[name] for name in columns])


def test_the_rule_worked_by_hand_where_those_dropped_later_stand_before_those_dropped_earlier():
    scores = {"cheap": [0.9, 0.1, 0.5, 0.7, 0.3], "dear": [0.2, 0.99, 0.8, 0.6, 0.95]}
    ranking = reading("cheap", "dear").rank(scores, 0.4)  # drops floor(0.4 · 5) = 2: candidates 4 and 1
    assert ranking.order.tolist() == [2, 3, 0, 4, 1]
    assert ranking.stage_scores.tolist() == [0.2, 0.1, 0.8, 0.6, 0.3]
    assert ranking.stages.tolist() == [1, 0, 1, 1, 0]
    # 0.2 is the lowest that was kept: 0.3 and 0.1, which fell before, go 0.1 down together, and the gap
    assert ranking.scores.tolist() == pytest.approx([0.2, -1e-6, 0.8, 0.6, 0.2 - 1e-6], abs=1e-12)
    assert ranking.survivors == (5, 3)
    scores = {"a": [4, 3, 2, 1], "b": [1, 2, 9, 9], "c": [5, 5, 5, 5]}
    assert reading("a", "b", "c").rank(scores, [0.25, 0.4]).order.tolist() == [1, 2, 0, 3]


def test_the_floor_is_of_the_product_as_written():
    assert pruning.dropped(100, 0.29) == 29
    assert pruning.dropped(2, 0.3) == 0


@pytest.mark.parametrize("size", [1, 7, 13, 130])
def test_equal_logits_are_equal_probabilities_wherever_they_stand_and_none_rises(size):
    draw = numpy.random.default_rng(size)
    for _ in range(50):
        logit = draw.normal()
        equal = rank_by_stages(lambda _, rows, at=logit: torch.full((len(rows),), at).double(), 1, size, 0.0)
        assert len(set(equal.as_probabilities().scores.tolist())) == 1
        near = torch.from_numpy(logit + numpy.spacing(logit) * draw.integers(0, 4, size))
        ranking = rank_by_stages(lambda _, rows, near=near: near[rows], 1, size, 0.0).as_probabilities()
        assert (ranking.scores[ranking.order].diff() <= 0).all()
