import numpy
import pytest

from as2lib.models import place


def test_columns_are_log_odds_and_the_log_of_the_place_from_one():
    numpy.testing.assert_allclose(
        place.columns([0.5, 0.75, 1.0], [0, 1, 9])[:2], [[0, 0], [numpy.log(3), numpy.log(2)]]
    )
    assert numpy.isfinite(place.columns([0.0, 1.0], [0, 1])).all()


def lists(score_weight: float, place_weight: float, questions: int = 2000, candidates: int = 6):
    """One correct candidate a question, drawn by the softmax of what the weights give."""
    generator = numpy.random.default_rng(0)
    position = numpy.tile(numpy.arange(candidates), questions)
    score = generator.uniform(0.02, 0.98, len(position))
    value = (place.columns(score, position) @ [score_weight, place_weight]).reshape(questions, candidates)
    correct = (value + generator.gumbel(size=value.shape)).argmax(axis=1)
    label = (position.reshape(questions, -1) == correct[:, None]).astype(int).ravel()
    return numpy.repeat(numpy.arange(questions), candidates), label, score, position


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.7, -1.0)])
def test_the_weights_that_drew_the_labels_are_found_again(weights):
    assert place.fit(*lists(*weights)) == pytest.approx(weights, abs=0.1)
