import pytest
from hypothesis import given
from hypothesis import strategies as st

from as2lib.metrics.questions import Questions

lists = st.lists(st.integers(0, 4), min_size=1, max_size=15)


def naive(ids):
    """The number, the place and, by question, the first row and the size, one row after the other."""
    seen = {}
    rows = [(list(seen).index(name), len(seen[name]) - 1) for row, name in enumerate(ids) if _add(seen, name, row)]
    codes, places = (list(column) for column in zip(*rows, strict=True))
    return codes, [rows[0] for rows in seen.values()], [len(rows) for rows in seen.values()], places


def _add(seen, name, row):
    seen.setdefault(name, []).append(row)
    return True


@given(lists)
def test_rows_that_stand_anywhere_are_those_of_a_naive_loop(ids):
    expected = naive(ids)
    index = Questions.anywhere(ids)
    assert [column.tolist() for column in index] == [*expected]


@pytest.mark.parametrize("kind", [str, int])
@given(lists)
def test_rows_that_stand_together_are_those_of_a_naive_loop_whatever_their_ids(kind, ids):
    ids = [kind(name) for name in sorted(ids)]
    assert [column.tolist() for column in Questions.together(ids)] == [*naive(ids)]


def test_no_rows_are_no_questions():
    assert [len(column) for column in Questions.together([])] == [0, 0, 0, 0]


def test_parts_hold_whole_questions():
    index = Questions.together([0, 0, 1, 2, 2])
    assert [part.tolist() for part in index.parts(2)] == [[0, 1], [2, 3, 4]]
    assert [range(5)[rows] for rows in index.slices()] == [range(2), range(2, 3), range(3, 5)]
