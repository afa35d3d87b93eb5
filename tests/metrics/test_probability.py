import numpy
from scipy.special import expit

from as2lib.metrics.probability import log_odds, sigmoid


def test_probabilities_and_log_odds_are_those_of_scipy_each_others_inverse_and_finite_where_certain():
    odds = numpy.linspace(-30, 30, 101)
    numpy.testing.assert_allclose(sigmoid(odds), expit(odds), rtol=1e-15)
    numpy.testing.assert_allclose(log_odds(sigmoid(odds[odds < 10])), odds[odds < 10], rtol=1e-9)
    assert numpy.isfinite(log_odds([0.0, 1.0])).all()
    assert sigmoid(numpy.array([-numpy.inf, -1e5, 1e5])).tolist() == [0, 0, 1]
