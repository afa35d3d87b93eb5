import numpy
import pytest

from as2lib.metrics.agreement import majority, rank_correlation
from as2lib.papers.cerberus import resemblance
from as2lib.runs.params import FAMILIES


@pytest.fixture
def student(trained):
    return trained.study.run("mhs/3h1/seed-0").scores("test")


@pytest.fixture
def seeds(trained):
    return resemblance.scored(trained.study, {"words": "lexical/word_overlap", "WO+RR": "lexical/overlap_then_rank"})


def teacher(trained, family):
    return trained.study.run(f"teacher/{family}/seed-0").scores("test")["score"]


def test_agreements_have_a_row_a_head_and_control_and_a_column_a_teacher(trained, student, seeds):
    found = resemblance.agreements(seeds)
    assert set(found) == set(resemblance.MEASURES)
    table = found["correlation"]
    assert table.index.tolist() == [*(f"head taught by {family}" for family in FAMILIES), "words", "WO+RR"]
    assert table.columns.tolist() == [f"{family} large" for family in FAMILIES]
    answered = student.groupby("question_id")["label"].transform("max") == 1
    columns = student["head_1"], teacher(trained, FAMILIES[2]), student["question_id"]
    by_hand = rank_correlation(*(column[answered] for column in columns))
    assert table.iloc[1, 2] == pytest.approx(by_hand.mean())


def test_own_teacher_compares_the_diagonal_with_the_rest_of_its_column(seeds):
    square = numpy.array([[0.9, 0.2, 0.3], [0.5, 0.4, 0.1], [0.4, 0.6, 0.2], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    frames = {name: frame * 0 + square for name, frame in resemblance.agreements(seeds).items()}
    found = resemblance.own_teacher(frames).iloc[0]
    assert found["own"] == pytest.approx((0.9 + 0.4 + 0.2) / 3)
    assert found["other heads"] == pytest.approx((0.45 + 0.4 + 0.2) / 3)  # the controls do not count
    assert (found["first"], found["teachers"]) == (1, 3)
    shared = resemblance.figure_3(frames)
    assert shared["agrees most with"].tolist()[:3] == [f"{FAMILIES[i]} large" for i in (0, 0, 1)]
    assert resemblance.mean_shares(shared) == pytest.approx((40, 100))
    said = resemblance.sentences_figure_3(shared)[0]
    assert said.startswith("By the paper's measure 2 of the 3 heads agree most with")


def test_majorities_count_every_answered_question_once(trained, student, seeds):
    table = resemblance.majorities(seeds)
    assert table["questions"].sum() == 15
    assert table[["MHS", "words", "published"]].sum().tolist() == pytest.approx([100, 100, 100])
    assert table["published questions"].tolist() == [197, 17, 1, 28]
    teachers = numpy.stack([teacher(trained, family) for family in FAMILIES], axis=1)
    cells = majority(student["score"], teachers, student["label"], student["question_id"]).cells
    assert resemblance.cells(seeds).equals(cells / 1)
    assert table["questions"].iloc[0] == cells.loc[3, "right"]


def test_confidences_are_the_teachers_highest_scores(trained, student, seeds):
    by_case, overridden = resemblance.confidences(seeds)
    assert by_case.index.tolist() == list(resemblance.CASES.values())
    table = resemblance.majorities(seeds)
    assert by_case["questions"].tolist() == table["questions"].tolist()
    assert len(overridden) == table["questions"].iloc[2]
    assert overridden["surest"].is_monotonic_decreasing
    if len(overridden):
        first = overridden.iloc[0]
        rows = student["question_id"] == first["question"]
        assert first[f"{FAMILIES[0]} large"] == pytest.approx(100 * teacher(trained, FAMILIES[0])[rows].max())
    assert resemblance.sentence_confidence(by_case, overridden[:0]) == "No question was overridden."


@pytest.mark.parametrize(("share", "said"), [(1.2, "Yet heads are nearly alike"), (30.0, "What it comes to")])
def test_the_answer_says_how_far_heads_differ_at_all(trained, seeds, monkeypatch, share, said):
    monkeypatch.setattr(resemblance.tables, "disagreement", lambda runs: share)
    own = resemblance.own_teacher(resemblance.agreements(seeds))
    found = resemblance.answer(trained.study, own, resemblance.own_teacher_test(trained.study, seeds))
    assert f"{said}: two of them choose another top candidate in {share:.1f} % of the questions" in found
    assert "Against the mean head, combining the heads " in found
