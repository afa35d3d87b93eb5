"""The two stages of GOVERN's distillation, on the tiny study."""

import numpy
import pytest
import torch
from scipy.special import expit

from as2lib.data.pairs import load_parts
from as2lib.losses.govern import govern, mean_ensemble
from as2lib.papers.govern.systems import ALIKE
from as2lib.runs.fit import teacher_logits, training_pairs
from as2lib.runs.fit.objectives import objective
from tests.test_fit import weights


def test_a_student_without_labels_sees_a_pool_without_labels(voted):
    pairs = training_pairs(voted.planned("govern/govern/seed-0"))
    assert pairs.column_names == ["question_id", "question", "answer"]
    assert len(pairs) == voted.find("govern/govern/seed-0").facts["pairs"] == 120


def test_a_teacher_never_sees_the_fold_that_it_leaves_out(voted):
    whole = load_parts(tuple(voted.study.data.target.train), "answered")
    questions = list(dict.fromkeys(whole["question_id"]))
    seen = [set(training_pairs(voted.planned(f"govern/fold-{i}/seed-0"))["question_id"]) for i in range(1, 6)]
    for fold, mine in enumerate(seen):
        assert mine == set(questions) - set(questions[fold::10])


@pytest.mark.parametrize("teachers", range(1, ALIKE + 1))
def test_one_teacher_or_two_make_the_same_student_by_vote_and_by_mean(teachers):
    generator = torch.Generator().manual_seed(0)
    student = torch.rand(64, generator=generator).requires_grad_()
    teacher = torch.rand(64, teachers, generator=generator)
    gradients = [torch.autograd.grad(loss(student, teacher).total, student)[0] for loss in (govern, mean_ensemble)]
    torch.testing.assert_close(*gradients)


def test_the_logistic_ensemble_teaches_what_it_scores(voted):
    pairs = load_parts(tuple(voted.study.data.target.test), "all")
    logits = teacher_logits(voted.with_parents("govern/lr-ensemble/seed-0"), pairs, voted.precision())
    stored = voted.find("govern/lr-ensemble/seed-0").scores("test")["score"]
    assert logits.dtype == numpy.float32
    numpy.testing.assert_allclose(expit(logits[:, 1] - logits[:, 0]), stored, atol=1e-6)


def test_a_student_keeps_only_the_first_layers_of_its_start(voted):
    start, student = weights(voted, "transfer/electra-base/seed-0"), weights(voted, "govern/one-worse/seed-0")
    depth = [len({name.split(".")[3] for name in w if ".encoder.layer." in name}) for w in (start, student)]
    assert depth == [2, 1]


def test_the_models_of_an_ensembles_members_are_needed_where_it_teaches(voted):
    missing = voted.missing(["govern/lr/seed-0"], model=True)
    assert missing == []
    (voted.folder("govern/teacher-1/seed-0") / "model").rename(voted.folder("govern/teacher-1/seed-0") / "away")
    try:
        assert "govern/teacher-1/seed-0" in voted.missing(["govern/lr-ensemble/seed-0"], model=True)
        assert "govern/teacher-1/seed-0" not in voted.missing(["govern/lr-ensemble/seed-0"])
    finally:
        (voted.folder("govern/teacher-1/seed-0") / "away").rename(voted.folder("govern/teacher-1/seed-0") / "model")


class Output:
    def __init__(self, head_logits):
        self.head_logits = head_logits


def logit(values):
    found = torch.tensor(values).logit()
    return torch.stack([torch.zeros_like(found), found], dim=-1)


def test_each_head_learns_from_its_own_teacher_or_from_the_vote_of_the_others():
    heads, teachers = logit([[0.5, 0.5, 0.4]]), logit([[0.9, 0.7, 0.2]])
    own = objective({"loss": "teacher_a_head"})(Output(heads), {"teacher_logits": teachers}, 0)
    assert own.total.item() == pytest.approx(0.16 + 0.04 + 0.04, abs=1e-6)
    others = objective({"loss": "govern_a_head"})(Output(heads), {"teacher_logits": teachers}, 0)
    # head 0 hears .7 and .2: drawn; head 1 hears .9 and .2: drawn; head 2 hears .9 and .7: both above
    expected = (0.04 + 0.09) / 2 + (0.16 + 0.09) / 2 + (0.25 + 0.09) / 2
    assert others.total.item() == pytest.approx(expected, abs=1e-6)
    assert others.no_majority.item() == pytest.approx(2 / 3)
