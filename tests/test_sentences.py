"""How numbers are said, and what no sentence of a page may have: test_pages and test_every_notebook look for it."""

from as2lib.runs import wording

ABSENT = float("nan")
NOBODY_SAYS = {
    "an ASCII minus": r"(?<![\w-])-\d",
    "minus zero, plus zero": r"[-−+]0(\.0+)?(?![\d.])",
    "a value that is missing": r"\b(nan|NaN|None(?! of)|NaT)\b|<NA>",
    "a sign after a verb": r"\b(adds|costs|is|loses|gains|saves) [-−+]\d",
    "a count of zero": r"(?<![\d.])0 of\b",
    "an effect of zero": r"\b(adds|costs|is|by|loses) 0(\.0+)? points",
    "two blanks, or one before a stop": r"  | [.,;](?!\d)",
    "an empty list": r": \.|\(\)|\[",
}


def test_numbers_have_true_minus_signs_and_one_zero():
    assert [wording.number(value) for value in (-0.04, -0.05001, 0, 1234.5, ABSENT)] == [
        "0.0", "−0.1", "0.0", "1,234.5", "not known",
    ]  # fmt: skip
    assert [wording.signed(value) for value in (-0.4, -0.04, 0.04, 0.4)] == ["−0.4", "0.0", "0.0", "+0.4"]
    assert [wording.span(*ends) for ends in ((-1.23, 0.6), (0.01, -0.01))] == ["−1.2 to 0.6", "0.0"]


def test_a_change_and_a_distance_are_said_with_their_side():
    assert [wording.changes(value) for value in (-0.3, -0.01, 0.3)] == [
        "costs 0.3 points of MAP", "leaves MAP as it is", "adds 0.3 points of MAP",
    ]  # fmt: skip
    assert [wording.apart(value, "the mean") for value in (-0.3, 0.01, 0.3)] == [
        "0.3 points of MAP below the mean", "level with the mean in MAP", "0.3 points of MAP above the mean",
    ]  # fmt: skip
    assert [wording.percent_apart(value, "it") for value in (-37.2, 0.2, 54)] == [
        "37 % less than it", "as much as it", "54 % more than it",
    ]  # fmt: skip


def test_a_count_of_none_and_of_all_is_said_in_words():
    assert [wording.some(count, 3, "teachers") for count in (0, 1, 3)] == [
        "none of the 3 teachers", "1 of the 3 teachers", "all 3 teachers",
    ]  # fmt: skip


def test_a_p_value_has_two_digits_that_count_and_one_is_1_00():
    assert [wording.p_text(p) for p in (0.0, 0.0009999, 0.001, 0.0123, 0.05, 0.996, 1.0, ABSENT)] == [
        "p < 0.001", "p < 0.001", "p = 0.0010", "p = 0.012", "p = 0.050", "p = 1.00", "p = 1.00", "p not known",
    ]  # fmt: skip
