import numpy
import pytest
from scipy.special import logit, softmax
from sklearn.linear_model import LogisticRegression

from as2lib.models import ensemble


def test_the_softmax_of_mean_logits_is_the_mean_softmax():
    logits = numpy.random.default_rng(0).normal(size=(3, 7, 2)) * 5
    found = ensemble.mean_logits(logits, [0.2, 0.3, 0.5])
    expected = numpy.average(softmax(logits, axis=-1), axis=0, weights=[0.2, 0.3, 0.5])
    assert found.dtype == numpy.float32
    numpy.testing.assert_allclose(softmax(found.astype(float), axis=-1), expected, rtol=1e-5)
    assert numpy.isfinite(ensemble.mean_logits([numpy.array([[-900.0, 900.0]])])).all()


def test_tuned_weights_are_the_first_of_equal_ones_which_are_all_the_same_and_else_the_best_that_were_tried():
    scores = numpy.random.default_rng(0).random((3, 20))
    assert ensemble.tuned_weights(scores, lambda _: 1.0, 5, 0) == pytest.approx([1 / 3] * 3)
    weights = ensemble.tuned_weights(scores, lambda mean: -float(abs(mean - scores[1]).sum()), 40, 0)
    assert weights[1] > 0.7


def test_logistic_regression_is_that_of_scikit_learn():
    scores, label = numpy.random.default_rng(0).random((2, 40)), numpy.arange(40) % 2
    expected = LogisticRegression().fit(scores.T, label).decision_function(scores.T)
    numpy.testing.assert_allclose(ensemble.weigh(ensemble.fit_logistic(scores, label), scores), expected)


def test_shares_are_the_softmax_over_a_questions_candidates_wherever_its_rows_stand():
    margin = numpy.log([1.0, 6.0, 3.0, 2.0])
    for z in (margin, margin + numpy.array([1000, 5, 1000, 5])):
        shares = numpy.exp(ensemble.log_shares(z, ["a", "b", "a", "b"]))
        assert shares == pytest.approx([1 / 4, 6 / 8, 3 / 4, 2 / 8])


def test_platt_scaling_is_scikit_learns_regression_on_the_log_share_of_answered_questions_alone():
    generator = numpy.random.default_rng(0)
    question, score = numpy.repeat(numpy.arange(200), 5), generator.random(1000)
    label = (generator.random(1000) < score**3).astype(int)
    answered = numpy.isin(question, question[label == 1])
    assert not answered.all()
    platt = ensemble.fit_platt(question, label, score)
    shares = ensemble.log_shares(logit(score), question)[:, None]
    expected = LogisticRegression().fit(shares[answered], label[answered]).predict_proba(shares)
    logits = numpy.stack([numpy.zeros(1000), logit(score)], axis=1).astype(numpy.float32)
    numpy.testing.assert_allclose(softmax(ensemble.calibrated(platt, logits, question), axis=1), expected, rtol=1e-4)
    numpy.testing.assert_allclose(ensemble.calibrated_scores(platt, score, question), expected[:, 1], rtol=1e-6)


def test_certainty_beyond_float64_is_calibrated_too():
    platt = ensemble.fit_platt([0, 0, 1, 1], [1, 0, 0, 1], [1.0, 0.0, 1.0, 0.0])
    logits = numpy.array([[0, -numpy.inf], [0, -numpy.inf], [-numpy.inf, 0]], dtype=numpy.float32)
    assert numpy.isfinite([*platt["weights"], platt["intercept"]]).all()
    assert numpy.isfinite(ensemble.calibrated(platt, logits, ["a", "a", "b"])).all()
