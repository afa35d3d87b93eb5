import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from as2lib.losses.pairwise import margin_mse, ranknet

lists = st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 1)), min_size=1, max_size=5)


def padded(questions):
    """Scores, teacher's scores, labels and mask (q, n); what stands beyond the mask would show in any loss."""
    longest = max(map(len, questions)) + 1
    scores = torch.full((len(questions), longest), math.nan, dtype=torch.float64)
    teacher, labels = torch.full_like(scores, math.inf), torch.ones_like(scores, dtype=torch.int8)
    mask = torch.zeros_like(scores, dtype=torch.bool)
    for row, question in enumerate(questions):
        for place, (score, of_teacher, label) in enumerate(question):
            scores[row, place], teacher[row, place], labels[row, place] = score, of_teacher, label
            mask[row, place] = True
    return scores, teacher, labels, mask


def by_loop(questions, loss):
    losses = []
    for question in questions:
        correct = [(score, teacher) for score, teacher, label in question if label]
        incorrect = [(score, teacher) for score, teacher, label in question if not label]
        losses += [loss(s - t, u - v) for s, u in correct for t, v in incorrect]
    return (sum(losses) / len(losses) if losses else 0.0), len(losses)


@given(st.lists(lists, min_size=1, max_size=4))
def test_both_are_means_over_every_correct_and_incorrect_candidate_of_a_question(questions):
    scores, teacher, labels, mask = padded(questions)
    scores.requires_grad_()
    for loss, of_a_pair in (
        (ranknet(scores, labels, mask), lambda margin, _: math.log1p(math.exp(-margin))),
        (margin_mse(scores, teacher, labels, mask), lambda margin, wanted: (margin - wanted) ** 2),
    ):
        expected, pairs = by_loop(questions, of_a_pair)
        assert (loss.total.item(), loss.pairs.item()) == (pytest.approx(expected), pairs)
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
