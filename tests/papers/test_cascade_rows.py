import pytest

from as2lib import Study
from as2lib.papers.cascade import analyses
from as2lib.papers.cascade.rows import schemes
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


def test_or_on_the_transfer_set_by_the_studys_own_steps(study):
    small = study(cascade())
    for system in ("cascade", "monolith/1", "monolith/2"):
        second, wide = (small.plan[f"{system}/{where}/seed-0"] for where in ("target", "wide"))
        [first] = second.parents["start"]
        assert first.data["train"] == tuple(small.data.transfer.train)
        assert first.spec["training"] == wide.spec["training"] == small.fit.transfer.model_dump(exclude_none=True)
        assert second.spec["training"] == small.fit.adapt.model_dump(exclude_none=True)


def test_the_model_of_all_layers_is_the_teachers_run_where_it_learns_what_that_learns():
    study = Study.load("wikiqa")
    for seed in study.seeds:
        whole, teacher = f"monolith/6/target/seed-{seed}", f"teacher/pointwise/seed-{seed}"
        assert study.store.identity(whole) == study.store.identity(teacher)


@pytest.mark.parametrize(("name", "deepest"), [("wikiqa", 6), ("sample", 4)])
def test_the_papers_deepest_model_stands_beside_our_deepest_and_its_ratios_beside_ours(name, deepest):
    study = Study.load(name)
    table2 = analyses.published(study, "table2", schemes(study, "target"))
    table3 = analyses.published(study, "table3", schemes(study))
    assert table2.loc[f"cascade, exit at layer {deepest}", "WikiQA MAP"] == 89.9
    assert table2.loc[f"one model of {deepest - 1} layers", "WikiQA MAP"] == 89.0
    assert table3.loc["models in sequence, 40% dropped", "cost"] == 18
    assert table3.loc[f"cascade, exit at layer {deepest - 1}", "cost"] == -20
