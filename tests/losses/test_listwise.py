import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr, softmax
from torch.nn.utils.rnn import pad_sequence

from as2lib.losses.listwise import bce, listwise_kl

lists = st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 1)), min_size=1, max_size=6)


@given(st.lists(lists, min_size=1, max_size=4))
def test_it_is_scipys_relative_entropy_averaged_over_answered_questions(questions):
    values = [torch.tensor(question, dtype=torch.float64) for question in questions]
    expected = [rel_entr(y / y.sum(), softmax(s)).sum() for s, y in (rows.numpy().T for rows in values) if y.sum()]
    scores, labels = pad_sequence(values, True, 99.0).unbind(-1)  # 99, which is under no mask, must not matter
    mask = pad_sequence([torch.ones(len(rows)) for rows in values], True)
    loss = listwise_kl(scores, labels, mask).total.item()
    assert loss == pytest.approx(numpy.mean(expected) if expected else 0.0, abs=1e-9)


def test_binary_cross_entropy_by_hand():
    loss = bce(torch.tensor([0.0, 2.0]), torch.tensor([1, 0])).total.item()
    assert loss == pytest.approx((numpy.log(2) + numpy.log1p(numpy.exp(2))) / 2)


def test_without_a_list_or_beside_minus_infinity_loss_and_gradient_are_finite():
    scores = torch.tensor([[1.0, -torch.inf, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    mask = torch.tensor([[True, True, True], [False, False, False]])
    total = listwise_kl(scores, torch.tensor([[1, 0, 0], [0, 0, 0]]), mask).total
    total.backward()
    assert total.item() == pytest.approx(numpy.log1p(numpy.exp(-1)))
    assert scores.grad.isfinite().all()
