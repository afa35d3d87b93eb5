import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from as2lib.metrics.pruning import dropped, replay


@settings(max_examples=100)
@given(st.data())
def test_among_equal_scores_the_correct_candidates_fall_first_whatever_the_order_of_the_rows(data):
    few = st.integers(0, 2)
    rows = data.draw(st.lists(st.tuples(few, st.integers(0, 1), st.tuples(few, few, few)), min_size=1, max_size=20))
    question, label, scores = zip(*rows, strict=True)
    scores = numpy.array(scores)
    alpha = (0.3, 0.5)
    position, last = replay(question, label, scores, alpha)
    for name in set(question):
        own = [row for row, other in enumerate(question) if other == name]
        alive, fallen = own, []
        for stage in range(3):
            alive = sorted(alive, key=lambda row, stage=stage: (-scores[row, stage], label[row], row))
            stay = len(alive) - dropped(len(alive), alpha[stage]) if stage < 2 else len(alive)
            assert (last[alive[:stay]] >= min(stage + 1, 2)).all()
            alive, fallen = alive[:stay], alive[stay:] + fallen
        assert position[alive + fallen].tolist() == list(range(len(own)))
