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
