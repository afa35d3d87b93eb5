import numpy

from as2lib.metrics.pruning import replay


def test_among_equal_scores_the_correct_candidates_fall_first_whatever_the_order_of_the_rows():
    question, label = list("abaaba"), [1, 1, 0, 1, 0, 0]
    scores = numpy.array([[5, 5], [2, 0], [5, 1], [5, 3], [2, 9], [4, 9]])
    # of a the last row falls by its score, then one of two correct ones, the later; of b the correct one
    position, last = replay(question, label, scores, 0.5)
    assert last.tolist() == [1, 0, 1, 0, 1, 0]
    assert position.tolist() == [0, 1, 1, 2, 0, 3]
    position, _ = replay(question, label, numpy.ones((6, 1)), [])
    assert position.tolist() == [2, 1, 0, 3, 0, 1]
