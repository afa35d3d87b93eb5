import pytest
import torch
from torch import nn

from as2lib import Study, imported
from as2lib.papers.cerberus import budget, longer
from tests.invented import FIT, invent

LONG = {
    "transfer": FIT | {"steps": 9},
    "adapt": FIT | {"steps": 7, "evaluate_every": 2},
    "transfer_fit": {"electra": {"steps": 8}},
}


def with_rows(*rows, **more):
    return Study.load("tiny", {"longer": {"rows": list(rows), **LONG, **more}})


def test_a_row_comes_with_what_it_is_made_from_and_nothing_else(root):
    names = {run.name for run in longer.runs(with_rows("kd/electra"))}
    made_from = {"transfer/electra-large", "transfer/electra-base", "teacher/electra", "kd/electra"}
    assert names == {f"longer/{prefix}/seed-0" for prefix in made_from}


def test_a_longer_run_is_the_run_of_a_study_with_that_budget_and_computes_as_its_section_says(root):
    found = with_rows("kd/electra", "teacher/roberta", precision="float32", kernels=True)
    backbones = {
        "backbones.electra.large.transfer_fit": {"steps": 8},
        "backbones.electra.base.transfer_fit": {"steps": 8},
    }
    other = Study.load("tiny", {"fit.transfer": LONG["transfer"], "fit.adapt": LONG["adapt"], **backbones})
    for name in ("kd/electra/seed-0", "teacher/roberta/seed-0"):
        assert found.store.identity(f"longer/{name}") == other.store.identity(name)
        assert found.store.identity(f"longer/{name}") != found.store.identity(name)
    found = with_rows("base/electra", kernels=False)
    run = found.plan["longer/base/electra/seed-0"]
    assert not found.store.kernels(run)
    assert found.store.kernels(found.plan["base/electra/seed-0"]) == found.kernels


def test_one_point_is_the_same_student_that_drops_nothing(root):
    study = with_rows("base/electra", without_dropout=True)
    found = {run.name: run for run in longer.runs(study)}
    own, point = found["longer/kd/electra/seed-0"], found["longer/grid/kd/electra/without-dropout"]
    assert (point.parents, point.seed, point.data) == (own.parents, own.seed, own.data)
    assert study.store.identity(point.name) != study.store.identity(own.name)
    model = imported.load(point.spec["model"])(nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3)))
    assert model.training
    assert torch.equal(model[0](torch.ones(9)), torch.ones(9))
    invent(study)
    tried = budget.tried(study)
    assert list(tried.index) == ["alpha 0.5, tau 3", "alpha 0.5, tau 3, no dropout"]
    assert budget.sentences_tried(study, tried)[0].endswith(f"own point has {tried['MAP'].iloc[0]:.1f}.")


def test_points_are_ranked_by_dev_alone_beside_the_studys_own(root):
    study = with_rows("base/electra", grid={"alpha": [0.9, 0.1], "tau": [3]})
    invent(study, perfect=lambda run: run.spec.get("alpha") == 0.9)
    found = budget.tried(study)
    assert found.index.name == "point"  # else the page would leave it out
    assert list(found.index) == ["alpha 0.1, tau 3", "alpha 0.5, tau 3", "alpha 0.9, tau 3"]
    assert found["run"].iloc[1] == "longer/kd/electra/seed-0"
    assert found["MAP"].iloc[2] == 100 > found["MAP"].iloc[1]
    (said,) = budget.sentences_tried(study, found)
    assert said.startswith("Of 3 points dev ranks alpha 0.9, tau 3 first, with MAP 100.0, and alpha ")
    assert said.endswith(f"the study's own point has {found['MAP'].iloc[1]:.1f}.")
    assert budget.tried(with_rows("base/electra")).empty
    assert budget.sentences_tried(study, budget.tried(with_rows("base/electra"))) == []


def test_other_grids_unknown_rows_and_a_study_without_longer_rows_are_refused_by_name(root):
    with pytest.raises(ValueError, match=r"longer.grid.learning_rate"):
        with_rows("base/electra", grid={"learning_rate": [1e-3, 2e-3]})
    for given in (with_rows("base/electra", "mhs/3h9"), with_rows("base/electra", once=["mhs/3h9"])):
        with pytest.raises(ValueError, match=r"longer.rows, longer.once: expected systems of CERBERUS.*got mhs/3h9"):
            given.plan  # noqa: B018
    assert longer.runs(Study.load("tiny")) == []
    with pytest.raises(ValueError, match="tiny has no section `longer`"):
        budget.table(Study.load("tiny"))


def test_the_twin_of_a_row_is_itself_where_the_larger_budget_has_none(root):
    assert longer.twin(with_rows("kd/electra"), "kd/electra") == "longer/kd/electra"
    assert longer.twin(with_rows("kd/electra"), "base/electra") == "base/electra"
    assert longer.twin(Study.load("tiny"), "kd/electra") == "kd/electra"
    both = longer.twins(with_rows("kd/electra"), {"a": "kd/electra", "b": "base/electra"})
    assert both == {"a, trained longer": "longer/kd/electra", "b": "base/electra"}
    assert "13_budget" in longer.note(both)
    assert longer.note({"b": "base/electra"}) == ""


def test_the_answer_sets_mhs_beside_the_student_of_one_teacher_and_says_what_each_costs(root):
    study = with_rows("base/electra", "kd/electra", "teacher/electra", "mhs/3h1")
    invent(study)
    found, tests = budget.table(study), budget.among(study)
    said = budget.answer(study, found, tests)
    for other in ("the base model with one teacher", "the base model without a teacher", "the large model that"):
        assert other in said
    tests[["difference", "p Holm", "p equal"]] = [-4.3, 0.001, 1.0]
    assert "in points of MAP it is below the large model that teaches a head (−4.3). It" in budget.answer(
        study, found, tests.tail(1)
    )
    size = found.set_index("run")["parameters"]
    whole = f"{size['mhs/3h1'] / size['base/electra']:.2f} times the parameters and"
    assert f"{whole} 2.00 times the operations of the base model" in said
