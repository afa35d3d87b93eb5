import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2lib.metrics.questions import Questions

lists = st.lists(st.integers(0, 4), min_size=1, max_size=15)


def naive(ids):
    """The number, the place and, by question, the first row and the size, one row after the other."""
    seen: dict = {}
    codes, places = [], []
    for row, name in enumerate(ids):
        rows = seen.setdefault(name, [])
        codes.append(list(seen).index(name))
        places.append(len(rows))
        rows.append(row)
    return codes, [rows[0] for rows in seen.values()], [len(rows) for rows in seen.values()], places


def test_parts_hold_whole_questions():
    index = Questions.together([0, 0, 1, 2, 2])
    assert [part.tolist() for part in index.parts(2)] == [[0, 1], [2, 3, 4]]
    assert [range(5)[rows] for rows in index.slices()] == [range(2), range(2, 3), range(3, 5)]


@given(lists)
def test_rows_that_stand_anywhere_or_together_are_those_of_a_naive_loop_whatever_their_ids(ids):
    assert [column.tolist() for column in Questions.anywhere(ids)] == [*naive(ids)]
    for kind in (str, int):
        together = [kind(name) for name in sorted(ids)]
        assert [column.tolist() for column in Questions.together(together)] == [*naive(together)]
    if ids[-1] != ids[0]:
        with pytest.raises(ValueError, match="apart"):
            Questions.together([*ids, ids[0]])
