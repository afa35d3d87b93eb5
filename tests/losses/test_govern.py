import math

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from as2lib.losses.govern import ca_mkd, govern, govern_a_head, govern_ca, mean_ensemble

PROBABILITIES = st.one_of(st.floats(0, 1, width=32), st.sampled_from([0.0, 0.25, 0.5, 1.0]))


@st.composite
def batches(draw):
    b, n = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    student, teachers = (arrays(float, shape, elements=PROBABILITIES, fill=st.nothing()) for shape in (b, (b, n)))
    labels = arrays(int, b, elements=st.integers(0, 1), fill=st.nothing())
    return [torch.tensor(draw(values)) for values in (student, teachers, labels)]


def naive_weights(teachers, y):
    """The paper's weights within these teachers, through exp and the cross entropy as it writes them."""
    if len(teachers) == 1:
        return [1.0]
    clamped = [min(max(f, 1e-6), 1 - 1e-6) for f in teachers]
    cost = [math.exp(-(y * math.log(f) + (1 - y) * math.log(1 - f))) for f in clamped]
    return [(1 - c / sum(cost)) / (len(teachers) - 1) for c in cost]


def naive_govern(s, teachers):
    verdict = numpy.sign(sum(numpy.sign(f - s) for f in teachers))
    followed = [f for f in teachers if verdict == 0 or numpy.sign(f - s) == verdict]
    return sum((s - f) ** 2 for f in followed) / len(followed), verdict == 0, len(followed)


def naive_govern_ca(s, teachers, y):
    followed = [f for f in teachers if numpy.sign(f - s) == numpy.sign(y - s)]
    if not followed:
        return (s - y) ** 2, True, 0
    weights = naive_weights(followed, y)
    return sum(w * (s - f) ** 2 for w, f in zip(weights, followed, strict=True)), False, len(followed)


@settings(max_examples=100)
@given(batches())
def test_every_loss_equals_a_naive_loop(batch):
    student, teachers, labels = batch
    rows = list(zip(student.tolist(), teachers.tolist(), labels.tolist(), strict=True))
    loss, expected = govern(student, teachers), numpy.mean([naive_govern(s, f) for s, f, _ in rows], axis=0)
    assert list(map(float, loss)) == pytest.approx(expected, abs=1e-9)
    loss, expected = govern_ca(*batch), numpy.mean([naive_govern_ca(s, f, y) for s, f, y in rows], axis=0)
    assert list(map(float, loss)) == pytest.approx(expected, abs=1e-9)
    soft = [sum(w * (s - t) ** 2 for w, t in zip(naive_weights(f, y), f, strict=True)) for s, f, y in rows]
    assert ca_mkd(student, teachers, labels).soft.item() == pytest.approx(sum(soft) / len(soft), abs=1e-9)
    mean = [(s - sum(f) / len(f)) ** 2 for s, f, _ in rows]
    assert mean_ensemble(student, teachers).total.item() == pytest.approx(sum(mean) / len(mean), abs=1e-9)
    one, wrong = teachers[:, :1], [(govern, student[:, None], teachers), (mean_ensemble, student.repeat(2), teachers)]
    for loss, *arguments in (*wrong, (govern_a_head, one, one), (govern_a_head, one, teachers.repeat(1, 2))):
        with pytest.raises(ValueError, match="expected"):
            loss(*arguments)
