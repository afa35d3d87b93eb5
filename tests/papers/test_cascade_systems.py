import pytest

from as2lib import Study
from tests.papers.conftest import STEPS


def cascade(fit=None, **changes):
    return {"encoder": "student", "exits": [1, 2], "fit": fit, **changes}


@pytest.fixture
def study(root):
    return lambda section: Study.load("tiny", {"cascade": section})


def test_models_for_the_target_follow_on_the_wide_set(study):
    plan = study(cascade({"transfer": STEPS, "adapt": STEPS})).plan
    for system in ("cascade", "monolith/1", "monolith/2"):
        assert [run.name for run in plan[f"{system}/target/seed-0"].parents["start"]] == [f"{system}/wide/seed-0"]


def test_or_on_the_transfer_set_by_the_studys_own_steps_of_which_a_cascade_has_more(study):
    small = study(cascade(joint=3, precision="bf16"))
    adapt, transfer = small.fit.adapt.steps, small.fit.transfer.steps
    for system, times in {"cascade": 3, "monolith/1": 1, "monolith/2": 1}.items():
        second = small.plan[f"{system}/target/seed-0"]
        [first] = second.parents["start"]
        assert first.data["train"] == tuple(small.data.transfer.train)
        assert (first.spec["training"]["steps"], second.spec["training"]["steps"]) == (times * transfer, times * adapt)
        assert small.store.precision(second) == "float32"  # the study's own; the section's is for the wide set
        assert small.store.precision(small.plan[f"{system}/wide/seed-0"]) == "bf16"


def test_the_wide_set_is_learnt_by_the_studys_own_steps_too_where_the_section_has_none(study):
    for changes, cascades in (({"joint": 3}, 3), ({"joint": 3, "wide_joint": 1}, 1)):
        small = study(cascade(**changes))
        for system, times in {"cascade": cascades, "monolith/1": 1, "monolith/2": 1}.items():
            training = small.plan[f"{system}/wide/seed-0"].spec["training"]
            assert training["steps"] == times * small.fit.transfer.steps


def test_steps_that_nothing_takes_are_refused(study):
    with pytest.raises(ValueError, match=r"cascade\.fit\.adapt"):
        study(cascade({"transfer": STEPS}))
    with pytest.raises(ValueError, match=r"cascade\.joint"):
        study(cascade({"transfer": STEPS, "adapt": STEPS}, joint=3))
