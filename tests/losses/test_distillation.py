import math

import pytest
import torch
from scipy.special import log_softmax, rel_entr, softmax
from torch.testing import assert_close

from as2lib.losses.distillation import cross_entropy, cross_entropy_per_head, kd, per_head
from as2lib.losses.multi_teacher import kd_sum

# b pairs · k heads · c classes
B, K, C = 6, 3, 2


@pytest.fixture
def logits():
    generator = torch.Generator().manual_seed(0)
    heads, teachers = (torch.randn(B, K, C, generator=generator, dtype=torch.float64) for _ in range(2))
    return heads, teachers, torch.randint(0, C, (B,), generator=generator)


@pytest.mark.parametrize(("alpha", "tau"), [(0.0, 3), (0.1, 5), (0.5, 1), (1.0, 3)])
def test_kd_is_equations_1_to_3_by_scipy(logits, alpha, tau):
    student, teacher, labels = logits[0][:, 0], logits[1][:, 0], logits[2]
    hard = -log_softmax(student.numpy(), axis=1)[range(B), labels].mean()
    soft = rel_entr(softmax(teacher.numpy() / tau, axis=1), softmax(student.numpy() / tau, axis=1)).sum(axis=1).mean()
    loss = kd(student, teacher, labels, alpha, tau)
    assert list(map(float, loss)) == pytest.approx([alpha * hard + (1 - alpha) * tau**2 * soft, hard, soft])


def test_a_part_of_weight_zero_counts_nothing_even_where_it_is_infinite():
    student = torch.tensor([[0.0, -math.inf]])
    assert kd(student, student, torch.tensor([1]), alpha=0, tau=1).total.item() == 0
    assert kd(student, torch.zeros(1, 2), torch.tensor([0]), alpha=1, tau=1).total.item() == 0


def test_heads_and_teachers_are_summed_not_averaged_and_without_teachers_each_head_has_its_hard_loss(logits):
    heads, teachers, labels = logits
    loss, alone = per_head(heads, teachers, labels, 0.1, 5), cross_entropy_per_head(heads, labels)
    singles = [kd(heads[:, i], teachers[:, i], labels, 0.1, 5) for i in range(K)]
    assert_close(loss.total, sum(single.total for single in singles))
    assert_close(loss.hard, torch.stack([single.hard for single in singles]))
    assert_close(loss.soft, torch.stack([single.soft for single in singles]))
    assert_close(alone.hard, torch.stack([cross_entropy(heads[:, i], labels).total for i in range(K)]))
    assert_close(alone.total, alone.hard.sum())
    from_each = [kd(heads[:, 0], teachers[:, i], labels, 0.1, 5) for i in range(K)]
    for name, part in kd_sum(heads[:, 0], teachers, labels, 0.1, 5)._asdict().items():
        assert_close(part, sum(getattr(each, name) for each in from_each))
    with pytest.raises(ValueError, match="a teacher a head"):
        per_head(heads, teachers[:, :1], labels, 0.5, 3)


def test_extreme_logits_stay_finite_in_float32_and_minus_infinity_is_a_probability_of_zero():
    """The soft losses are 1e4, −log softmax((1, −1) / 2)[0] and 0."""
    student = torch.tensor([[1e4, -1e4], [1.0, -1.0], [0.0, -math.inf]], requires_grad=True)
    teacher = torch.tensor([[-1e4, 1e4], [0.0, -math.inf], [0.0, -math.inf]])
    loss = kd(student, teacher, torch.tensor([1, 0, 0]), 0.5, 2)
    loss.total.backward()
    assert loss.hard.item() == pytest.approx((2e4 + math.log1p(math.exp(-2))) / 3)
    assert loss.soft.item() == pytest.approx((1e4 + math.log1p(math.exp(-1))) / 3)
    assert student.grad.isfinite().all()
