from as2lib import Study
from as2lib.papers.row import best_trivial, fit
from as2lib.study.params import Pairs
from as2lib.study.run import Row


def test_a_student_of_ones_own_is_taught_as_the_studys_students_are(root):
    own = {"mine": {"loss": "kd", "teachers": ["electra"]}, "plain": {"loss": "ce"}}
    changes = {"own": own, "distillation.alpha": 0.9, "teachers.electra.objective": "listwise"}
    plan = Study.load("tiny", changes).plan
    mine, student = plan["own/mine/seed-0"], plan["student/electra/seed-0"]
    for name in ("loss", "alpha", "tau", "calibration"):
        assert mine.spec[name] == student.spec[name]
    assert [run.content() for run in mine.parents["teachers"]] == [run.content() for run in student.parents["teachers"]]
    assert not {"alpha", "tau", "calibration"} & set(plan["own/plain/seed-0"].spec)


def test_a_parent_has_the_rows_seed_or_its_first_or_one_that_is_said(root):
    study = Study.load("tiny")
    teachers = ("teacher/electra", ("teacher/roberta", 1))
    taught = Row("mine/taught", "taught", "", **fit(study, "student", "kd_sum", teachers))
    names = [run.name for run in taught.make(study, 0).parents["teachers"]]
    assert names == ["teacher/electra/seed-0", "teacher/roberta/seed-1"]
    once = Row("mine/once", "once", "", **fit(study, "student"), seeds=(0,))
    [start] = Row("mine/after", "after", "", **fit(study, once)).make(study, 1).parents["start"]
    assert start.name == "mine/once/seed-0"


def test_rankers_that_read_the_order_stand_only_where_it_means_something_in_every_part():
    lexical = [run.spec["scorer"] for run in Study.load("selqa").plan.values() if run.kind == "lexical"]
    assert "word_overlap" in lexical
    assert not {"reciprocal_rank", "overlap_then_rank"} & {*lexical}
    parts = {"train": "wikiqa:train", "dev": "wikiqa:dev"}
    assert best_trivial(Pairs(**parts, test=["wikiqa:test"])) == "overlap_then_rank"
    assert best_trivial(Pairs(**parts, test=["wikiqa:test", "selqa:test"])) == "word_overlap"
