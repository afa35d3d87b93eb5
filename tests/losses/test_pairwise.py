import math

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from as2lib.losses.pairwise import margin_mse, ranknet

lists = st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 1)), min_size=1, max_size=5)


@given(st.lists(lists, min_size=1, max_size=4))
def test_both_are_means_over_every_correct_and_incorrect_candidate_of_a_question(questions):
    values = [torch.tensor(question, dtype=torch.float64) for question in questions]

    def differences(column):
        """Of every correct and every incorrect candidate of a question."""
        return torch.cat([(q[q[:, 2] == 1, column, None] - q[q[:, 2] == 0, column]).flatten() for q in values]).numpy()

    margin, wanted = differences(0), differences(1)
    scores, teacher, labels = pad_sequence(values, True, math.nan).unbind(-1)
    mask, labels = ~labels.isnan(), labels.nan_to_num(1)  # what stands beyond the mask would show in any loss
    scores = scores.clone().requires_grad_()
    for loss, each in (
        (ranknet(scores, labels, mask), numpy.logaddexp(0, -margin)),
        (margin_mse(scores, teacher, labels, mask), (margin - wanted) ** 2),
    ):
        expected = each.mean() if len(each) else 0.0
        assert (loss.total.item(), loss.pairs.item()) == (pytest.approx(expected), len(each))
        loss.total.backward()
        assert scores.grad[mask].isfinite().all()
        assert (scores.grad[~mask] == 0).all()


@pytest.mark.parametrize("label", [0, 1])
def test_a_batch_without_a_pair_gives_zero_and_a_zero_gradient(label):
    scores = torch.randn(2, 3, requires_grad=True)
    labels, mask = torch.full((2, 3), label), torch.ones(2, 3, dtype=torch.bool)
    for loss in (ranknet(scores, labels, mask), margin_mse(scores, torch.zeros(2, 3), labels, mask)):
        loss.total.backward()
        assert (loss.total.item(), loss.pairs.item()) == (0, 0)
        assert scores.grad.abs().max() == 0
