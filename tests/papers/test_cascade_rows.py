import pytest

from as2lib import Study
from as2lib.papers.cascade import analyses
from as2lib.papers.cascade.rows import schemes
from tests.study.conftest import STEP


@pytest.mark.parametrize(("name", "deepest"), [("wikiqa", 6), ("sample", 4)])
def test_the_papers_deepest_model_stands_beside_our_deepest_and_its_ratios_beside_ours(name, deepest):
    study = Study.load(name, {"cascade.seeds": [0]})
    table2 = analyses.published(study, "table2", schemes(study, "target"))
    table3 = analyses.published(study, "table3", schemes(study))
    assert table2.loc[f"cascade, exit at layer {deepest}", "WikiQA MAP"] == 89.9
    assert table2.loc[f"one model of {deepest - 1} layers", "WikiQA MAP"] == 89.0
    assert table3.loc["models in sequence, 40% dropped", "cost"] == 18
    assert table3.loc[f"cascade, exit at layer {deepest - 1}", "cost"] == -20


def test_models_for_the_target_follow_on_the_wide_set_or_on_the_transfer_set_by_the_studys_own_steps(root):
    section = {"encoder": "student", "exits": [1, 2], "fit": None}
    small = Study.load("tiny", {"cascade": section})
    large = Study.load("tiny", {"cascade": section | {"fit": {"transfer": STEP, "adapt": STEP}}})
    for system in ("cascade", "monolith/1", "monolith/2"):
        target, wide = f"{system}/target/seed-0", f"{system}/wide/seed-0"
        assert [run.name for run in large.plan[target].parents["start"]] == [wide]
        [first] = small.plan[target].parents["start"]
        assert first.data["train"] == tuple(small.data.transfer.train)
        transfer = small.fit.transfer.model_dump(exclude_none=True)
        assert first.spec["training"] == small.plan[wide].spec["training"] == transfer
        assert small.plan[target].spec["training"] == small.fit.adapt.model_dump(exclude_none=True)


def test_a_longer_cascade_has_the_steps_of_all_its_exits_and_differs_in_nothing_else():
    every = Study.load("wikiqa_base", {"cascade.seeds": [0]}).systems
    cascade, longer = (every[f"{name}/wide"].spec for name in ("cascade", "cascade-longer"))
    training = cascade["training"]
    assert longer["training"] == training | {"steps": 5 * training["steps"]}
    assert {**longer, "training": training} == cascade
