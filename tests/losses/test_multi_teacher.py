"""Facts about `as2lib.losses.multi_teacher`: against `kd` teacher by teacher, in its limits, and by hand."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from as2lib.losses.distillation import kd
from as2lib.losses.multi_teacher import kd_sum, round_robin

# b pairs · k teachers · c classes


def drawn(b=5, k=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    student = torch.randn(b, 2, generator=generator, dtype=torch.float64)
    teachers = torch.randn(b, k, 2, generator=generator, dtype=torch.float64)
    return student, teachers, torch.randint(0, 2, (b,), generator=generator)


@given(b=st.integers(1, 6), k=st.integers(1, 5), seed=st.integers(0, 99), alpha=st.sampled_from([0, 0.1, 0.5, 1]))
def test_kd_sum_is_the_sum_of_kd_over_the_teachers(b, k, seed, alpha):
    student, teachers, labels = drawn(b, k, seed)
    loss = kd_sum(student, teachers, labels, alpha, 3)
    each = [kd(student, teachers[:, i], labels, alpha, 3) for i in range(k)]
    for name in ("total", "hard", "soft"):
        assert_close(getattr(loss, name), sum(getattr(loss, name) for loss in each))


def test_teachers_take_turns():
    _, teachers, _ = drawn()
    assert [round_robin(step, teachers).equal(teachers[:, step % 3]) for step in range(5)] == [True] * 5
