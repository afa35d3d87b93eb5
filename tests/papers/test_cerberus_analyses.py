import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.papers.cerberus import analyses
from as2lib.papers.cerberus.analyses import Seed
from tests.papers.conftest import run_notebook

CONTROLS = ["base/electra", "lexical/overlap_then_rank"]
TEACHERS = ["teacher/electra", "teacher/roberta", "teacher/albert"]


def drawn(copies=False, questions=30):
    """Three teachers at random, and heads that copy them, or are as random."""
    generator = numpy.random.default_rng(0)
    question, label = numpy.repeat(numpy.arange(questions), 4), numpy.tile([1, 0, 0, 0], questions)
    index = pandas.MultiIndex.from_arrays([question, range(len(question))], names=["question_id", "position"])
    teachers = pandas.DataFrame({name: generator.random(len(label)) + 0.3 * label for name in TEACHERS}, index)
    scores = teachers.to_numpy() if copies else generator.random((len(label), 3))
    heads = pandas.DataFrame(scores, index, ["head_0", "head_1", "head_2"])
    heads[CONTROLS] = scores[:, :2]
    rankers = heads[["head_0", *CONTROLS]].set_axis(["mhs/3h1", *CONTROLS], axis=1)
    return Seed(0, heads, teachers, rankers, pandas.Series(label, index), index.get_level_values("question_id"))


@pytest.mark.parametrize("copies", [True, False])
def test_a_head_that_copies_its_teacher_resembles_it_and_one_that_does_not_none(invented, monkeypatch, copies):
    monkeypatch.setattr(analyses, "by_seed", lambda study: [drawn(copies)])
    page = run_notebook("06_head_teacher_agreement")
    assert (page["own"]["own"] == 1).all() == (page["own"]["first"] == 3).all() == copies
    assert (page["own_minus_others"].iloc[0]["low"] > 0) == copies


def test_a_student_stands_beside_the_teachers_of_its_own_seed(invented):
    study = Study.load("tiny", {"rows": {"mhs/3h1": [1]}})
    [only] = analyses.by_seed(study)
    teacher = study.run("teacher/electra/seed-1").scores().set_index(["question_id", "position"])["score"]
    assert only.number == 1
    assert only.teachers["teacher/electra"].equals(teacher.loc[only.teachers.index].rename("teacher/electra"))


def test_every_question_falls_in_one_case_and_the_surest_teacher_comes_first(invented):
    page = run_notebook("06_head_teacher_agreement")
    cases, questions = page["cases"], page["seeds"][0].question_id.nunique()
    assert cases["questions"].sum() == questions
    assert cases["mhs/3h1"].sum() == pytest.approx(100)
    assert cases["published questions"].tolist() == [197, 17, 1, 28]  # of the paper's 243
    assert page["overridden"]["surest"].is_monotonic_decreasing
    assert page["by_case"]["questions"].sum() == questions * len(page["seeds"])
