from as2lib import Study


def test_a_student_of_ones_own_is_taught_as_the_studys_students_are(root):
    own = {"mine": {"loss": "kd", "teachers": ["electra"]}, "plain": {"loss": "ce"}}
    changes = {"own": own, "distillation.alpha": 0.9, "teachers.electra.objective": "listwise"}
    plan = Study.load("tiny", changes).plan
    mine, student = plan["own/mine/seed-0"], plan["student/electra/seed-0"]
    for name in ("loss", "alpha", "tau", "calibration"):
        assert mine.spec[name] == student.spec[name]
    assert [run.content() for run in mine.parents["teachers"]] == [run.content() for run in student.parents["teachers"]]
    assert not {"alpha", "tau", "calibration"} & set(plan["own/plain/seed-0"].spec)
