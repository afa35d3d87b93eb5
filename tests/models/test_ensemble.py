import numpy
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from as2lib.models import ensemble
from as2lib.models.ensemble import calibrated, fit_logistic, fit_platt, log_shares, mean_logits, tuned_weights, weigh


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
    assert margin(ensemble.mean([good, bad], weights)) > margin(ensemble.mean([good, bad]))
    assert weights[0] > 0.8
    assert tuned_weights([good, bad], margin, trials=60, seed=0) == weights


def test_logistic_regression_is_that_of_scikit_learn():
    scores, label = numpy.random.default_rng(0).random((2, 40)), numpy.arange(40) % 2
    expected = LogisticRegression().fit(scores.T, label).decision_function(scores.T)
    numpy.testing.assert_allclose(weigh(fit_logistic(scores, label), scores), expected)


def probability(logits):
    return expit(logits[:, 1].astype(float) - logits[:, 0])


def questions(correct_first: int, correct_second: int) -> dict[str, numpy.ndarray]:
    """Questions of two candidates, which get shares of 4/5 and 1/5: log odds of 0 and log 4 below them."""
    first = numpy.arange(correct_first + correct_second) < correct_first
    return {
        "question_id": numpy.repeat(numpy.arange(len(first)), 2),
        "label": numpy.stack([first, ~first], axis=1).ravel().astype(int),
        "score": numpy.tile([2 / 3, 1 / 3], len(first)),  # odds of 2 and 1/2
    }


def test_shares_are_the_softmax_over_a_questions_candidates_wherever_its_rows_stand():
    margin = numpy.log([1.0, 6.0, 3.0, 2.0])
    shares = numpy.exp(log_shares(margin, ["a", "b", "a", "b"]))
    assert shares == pytest.approx([1 / 4, 6 / 8, 3 / 4, 2 / 8])
    assert numpy.exp(log_shares(numpy.add(margin, [1000, 5, 1000, 5]), ["a", "b", "a", "b"])) == pytest.approx(shares)


def test_a_candidate_gets_the_rate_at_which_candidates_with_its_share_are_correct():
    """Of the candidates with a share of 4/5 three in four are correct, of the others one in four: log odds of ±log 3,
    log 4 apart in the log share.  So the weight is 2 log 3 / log 4, and at 4/5 weight · log(4/5) + intercept is log 3.
    """
    platt = fit_platt(**questions(30_000, 10_000))
    weight = 2 * numpy.log(3) / numpy.log(4)
    assert platt["weights"] == pytest.approx([weight], rel=1e-3)
    assert platt["intercept"] == pytest.approx(numpy.log(3) - weight * numpy.log(4 / 5), rel=1e-3)
    logits = calibrated(platt, numpy.log([[1, 2], [2, 1], [1, 2]], dtype=numpy.float32), ["a", "a", "b"])
    assert logits.dtype == numpy.float32
    assert probability(logits)[:2] == pytest.approx([3 / 4, 1 / 4], rel=1e-3)
    assert probability(logits)[2] == pytest.approx(1 / (1 + numpy.exp(-platt["intercept"])))  # alone: a share of 1


def test_questions_without_a_correct_candidate_say_nothing_and_certainty_beyond_float64_is_calibrated_too():
    generator = numpy.random.default_rng(0)
    question, score = numpy.repeat(numpy.arange(200), 5), generator.random(1000)
    label = (generator.random(1000) < score**3).astype(int)
    answered = numpy.isin(question, question[label == 1])
    assert not answered.all()
    assert fit_platt(question, label, score) == fit_platt(question[answered], label[answered], score[answered])
    platt = fit_platt(**questions(30, 10) | {"score": numpy.tile([1.0, 0.0], 40)})
    logits = numpy.array([[0, -numpy.inf], [0, -numpy.inf], [-numpy.inf, 0]], dtype=numpy.float32)
    assert numpy.isfinite([*platt["weights"], platt["intercept"]]).all()
    assert numpy.isfinite(calibrated(platt, logits, ["a", "a", "b"])).all()
