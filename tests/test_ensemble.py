import numpy
import pytest

from as2lib.models.ensemble import mean


def test_the_mean_of_one_member_is_that_member():
    assert numpy.array_equal(mean([[0.25, 1.0]]), [0.25, 1.0])


def test_the_mean_is_taken_pair_by_pair():
    assert mean([[0.0, 1.0], [0.5, 0.0]]).tolist() == [0.25, 0.5]


@pytest.mark.parametrize("scores", [[], [[0.1], [0.1, 0.2]]])
def test_no_member_or_other_lengths_are_refused(scores):
    with pytest.raises(ValueError, match="members of one length"):
        mean(scores)
