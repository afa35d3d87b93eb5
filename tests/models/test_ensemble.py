import numpy
import pytest
from scipy.special import softmax

from as2lib.models.ensemble import fit_logistic, mean, mean_logits, tuned_weights, weigh


def test_the_softmax_of_mean_logits_is_the_mean_softmax():
    logits = numpy.random.default_rng(0).normal(size=(3, 7, 2)) * 5
    found = mean_logits(logits, [0.2, 0.3, 0.5])
    expected = numpy.average(softmax(logits, axis=-1), axis=0, weights=[0.2, 0.3, 0.5])
    assert found.dtype == numpy.float32
    numpy.testing.assert_allclose(softmax(found.astype(float), axis=-1), expected, rtol=1e-5)
    assert numpy.isfinite(mean_logits([numpy.array([[-900.0, 900.0]])])).all()


def test_tuned_weights_leave_out_the_member_that_only_harms():
    good, bad = numpy.array([0.9, 0.2, 0.1]), numpy.array([0.0, 1.0, 1.0])

    def margin(score):
        return score[0] - score[1:].max()

    weights = tuned_weights([good, bad], margin, trials=60, seed=0)
    assert sum(weights) == pytest.approx(1)
    assert margin(mean([good, bad], weights)) > margin(mean([good, bad]))
    assert weights[0] > 0.8
    assert tuned_weights([good, bad], margin, trials=60, seed=0) == weights


def test_logistic_regression_trusts_the_member_that_knows():
    generator = numpy.random.default_rng(0)
    label = generator.integers(0, 2, 400)
    knows, guesses = 0.2 + 0.6 * label + generator.normal(0, 0.05, 400), generator.random(400)
    fitted = fit_logistic([knows, guesses], label)
    assert fitted["weights"][0] > 10 * abs(fitted["weights"][1])
    assert fitted == fit_logistic([knows, guesses], label)
    assert ((weigh(fitted, [knows, guesses]) > 0) == label).mean() > 0.99
