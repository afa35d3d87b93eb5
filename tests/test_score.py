import numpy
import torch

from as2lib.score import score
from tests.fit import tiny
from tests.marks import needs_bf16

PAIRS = tiny.pairs(20)


def test_scores_come_in_the_callers_order_whatever_the_batches_without_dropout(own_root):
    model, encoder = tiny.classifier(dropout=0.1).train(), tiny.encoder()
    one_by_one, together = (score(model, PAIRS, encoder, batch_size=size).score for size in (1, None))
    numpy.testing.assert_allclose(one_by_one, together, atol=1e-5)
    reversed_pairs = PAIRS.select(range(len(PAIRS) - 1, -1, -1))
    numpy.testing.assert_allclose(score(model, reversed_pairs, encoder).score[::-1], together, atol=1e-5)
    scores = score(model, PAIRS, encoder)
    expected = torch.from_numpy(scores.logits).double().softmax(-1)[:, 1].numpy()
    numpy.testing.assert_allclose(scores.score, expected, atol=1e-12)


@needs_bf16
def test_bf16_is_near_float32_and_has_hardly_more_ties(own_root):
    model, encoder = tiny.classifier(), tiny.encoder()
    exact, fast = (score(model, PAIRS, encoder, precision).score for precision in ("float32", "bf16"))
    assert numpy.abs(exact - fast).max() < 0.05
    assert len(set(fast)) > 0.9 * len(set(exact))
