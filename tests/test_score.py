import numpy

from as2lib.score import score
from tests.fit import tiny
from tests.marks import needs_bf16

PAIRS = tiny.pairs(20)


@needs_bf16
def test_bf16_is_near_float32_and_has_hardly_more_ties(own_root):
    model, encoder = tiny.classifier(), tiny.encoder()
    exact, fast = (score(model, PAIRS, encoder, precision).score for precision in ("float32", "bf16"))
    assert numpy.abs(exact - fast).max() < 0.05
    assert len(set(fast)) > 0.9 * len(set(exact))
