import numpy
import pytest

from as2lib.metrics.agreement import majority, rank_correlation
from as2lib.papers.cerberus import resemblance
from as2lib.runs.params import FAMILIES


@pytest.fixture
def scores(trained):
    return trained.study.run("mhs/3h1/seed-0").scores("test")


def teacher(trained, family):
    return trained.study.run(f"teacher/{family}/seed-0").scores("test")["score"]


def test_agreements_have_a_row_a_head_and_control_and_a_column_a_teacher(trained, scores):
    found = resemblance.agreements(trained.study, {"words": "lexical/word_overlap"})
    assert set(found) == set(resemblance.MEASURES)
    table = found["correlation"]
    assert table.index.tolist() == [*(f"head taught by {family}" for family in FAMILIES), "words"]
    assert table.columns.tolist() == [f"{family} large" for family in FAMILIES]
    answered = scores.groupby("question_id")["label"].transform("max") == 1
    by_hand = rank_correlation(
        scores["head_1"][answered], teacher(trained, FAMILIES[2])[answered], scores["question_id"][answered]
    )
    assert table.iloc[1, 2] == pytest.approx(by_hand.mean())


def test_own_teacher_compares_the_diagonal_with_the_rest_of_its_column(trained):
    square = numpy.array([[0.9, 0.2, 0.3], [0.5, 0.4, 0.1], [0.4, 0.6, 0.2], [1.0, 1.0, 1.0]])
    frames = resemblance.agreements(trained.study, {"words": "lexical/word_overlap"})
    found = resemblance.own_teacher({name: frame * 0 + square for name, frame in frames.items()}).iloc[0]
    assert found["own"] == pytest.approx((0.9 + 0.4 + 0.2) / 3)
    assert found["other heads"] == pytest.approx((0.45 + 0.4 + 0.2) / 3)  # the control does not count
    assert (found["first"], found["teachers"]) == (1, 3)


def test_the_test_of_the_own_teacher_pairs_questions(trained):
    found = resemblance.own_teacher_test(trained.study)
    assert found.n <= 15
    assert found.difference == pytest.approx(found.mean_a - found.mean_b)


def test_majorities_count_every_answered_question_once(trained, scores):
    table = resemblance.majorities(trained.study, "MHS", {"words": "lexical/word_overlap"})
    assert table["questions"].sum() == 15
    assert table[["MHS", "words", "published"]].sum().tolist() == pytest.approx([100, 100, 100])
    assert table["published questions"].tolist() == [197, 17, 1, 28]
    teachers = numpy.stack([teacher(trained, family) for family in FAMILIES], axis=1)
    cells = majority(scores["score"], teachers, scores["label"], scores["question_id"]).cells
    assert resemblance.majority_cells(trained.study).equals(cells / 1)
    assert table["questions"].iloc[0] == cells.loc[3, "right"]


def test_confidences_are_the_teachers_highest_scores(trained, scores):
    by_case, overridden = resemblance.confidences(trained.study)
    assert by_case.index.tolist() == list(resemblance.CASES.values())
    table = resemblance.majorities(trained.study, "MHS", {})
    assert by_case["questions"].tolist() == table["questions"].tolist()
    assert len(overridden) == table["questions"].iloc[2]
    if len(overridden):
        first = overridden.iloc[0]
        rows = scores["question_id"] == first["question"]
        assert first[f"{FAMILIES[0]} large"] == pytest.approx(100 * teacher(trained, FAMILIES[0])[rows].max())
