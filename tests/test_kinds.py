"""Students of teachers that differ by kind: their plan, and such a run from its teachers' logits to its scores."""

import pytest
from scipy.special import expit, logit

from as2lib import Study
from as2lib.data.pairs import load_parts
from as2lib.papers import notebooks, plan
from as2lib.papers.kinds import plan as kinds
from as2lib.papers.kinds import tables
from as2lib.runs import estimate
from as2lib.runs.fit import teacher_logits
from as2lib.runs.fit.calibration import log_shares
from as2lib.runs.make import make_all
from tests.invented import FIT, invent
from tests.test_cosinet_runs import SECTION

KINDS = {"cosinet": SECTION, "kinds": {"rows": ["mhs/3h1", "kd/electra-sum"]}}
LONG = {"rows": ["mhs/3h1", "kd/electra-sum"], "transfer": FIT, "adapt": FIT | {"evaluate_every": 2}}


def test_a_study_without_the_section_has_no_such_run_and_no_notebook_of_them(root):
    without = Study.load("tiny", {"cosinet": SECTION})
    assert not [name for name in plan(without) if kinds.BEHIND in name]
    assert "14_kinds" not in [notebook.name for notebook in notebooks(without)]
    with pytest.raises(ValueError, match="kinds: expected a section cosinet beside it"):
        Study.load("tiny", {"kinds": KINDS["kinds"]})


@pytest.mark.parametrize(("changes", "before"), [({}, ""), ({"longer": LONG}, "longer/")])
def test_a_student_of_kinds_differs_from_its_twin_by_its_teachers_alone(root, changes, before):
    study = Study.load("tiny", KINDS | changes)
    for row in KINDS["kinds"]["rows"]:
        new, twin = (study.plan[f"{before}{row}{behind}/seed-0"] for behind in (kinds.BEHIND, ""))
        others = ["ca/birnn/seed-0", "cosinet/birnn/seed-0"]
        assert new.parents["teachers"] == [f"{before}teacher/electra/seed-0", *others]
        assert {**new.parents, "teachers": twin.parents["teachers"]} == twin.parents
        assert new.spec == {**twin.spec, "calibration": "platt"}
        assert (new.data, new.seed, new.precision, new.kernels) == (twin.data, twin.seed, twin.precision, twin.kernels)
        assert estimate.estimate(study.store, new.name) > 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": ["mhs/3h9"]}, "mhs/3h9, seed 0: expected the study to plan mhs/3h9/seed-0"),
        ({"rows": ["mhs/3h1"], "seeds": [1]}, "seed 1: expected the study to plan ca/birnn/seed-1, too"),
        ({"rows": ["kd/electra"]}, "expected systems with 3 teachers, such as mhs/3h1; got kd/electra"),
    ],
)
def test_a_row_without_a_twin_or_without_teachers_is_refused_by_name(root, wrong, said):
    with pytest.raises(ValueError, match=said):
        Study.load("tiny", KINDS | {"kinds": wrong}).plan  # noqa: B018


def test_a_student_of_kinds_learns_from_calibrated_scores_of_its_own_pairs(root):
    study = Study.load("tiny", KINDS)
    store, name = study.store, "mhs/3h1-of-kinds/seed-0"
    make_all(store, [name], progress=False)
    run = store.with_parents(name)
    assert sorted(run.facts["calibration"]) == ["ca/birnn/seed-0", "cosinet/birnn/seed-0"]  # the other learnt pairs
    assert {"head_0", "head_1", "head_2"} < {*run.scores("test")}
    pairs = load_parts(tuple(run.run.data["train"]))
    teacher = run.parents["teachers"][2]
    assert teacher_logits(teacher, pairs, store.precision(run.run)).shape == (len(pairs), 2)
    dev = teacher.scores("dev")
    fitted = run.facts["calibration"][teacher.name]
    shares = log_shares(logit(dev["score"]), dev["question_id"])
    found = expit(fitted["weights"][0] * shares + fitted["intercept"])
    answered = dev.groupby("question_id")["label"].transform("max") == 1
    assert found[answered].mean() == pytest.approx(dev["label"][answered].mean(), abs=1e-3)


def test_the_answer_names_every_student_and_each_is_set_beside_its_own_twin(root):
    study = Study.load("tiny", KINDS)
    invent(study)
    found = tables.table(study)
    said, gain = tables.answer(study, found), found["difference"].dropna()
    assert list(gain.index) == ["MHS, three kinds", "KD_Sum, three kinds"]
    first, second = said.split(" KD_Sum, three kinds, is ")
    for name, part in zip(gain.index, (first, second), strict=True):
        assert f"{abs(gain[name]):.1f} points of MAP {'above' if gain[name] > 0 else 'below'} its twin" in part
