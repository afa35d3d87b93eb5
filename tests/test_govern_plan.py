import pytest
from conftest import govern_section

from as2lib import Study
from as2lib.papers import notebooks, plan
from as2lib.papers.govern.systems import BASELINE, systems

LONGER = {"epochs": 3, "learning_rate": 1e-3, "batch_size": 8}


def study(root, **changes):
    return Study.load("tiny", {"govern": govern_section(root, **changes)})


@pytest.mark.parametrize(
    "changes", [{}, {"ablation": None}, {"longer_fit": LONGER}], ids=["all", "no ablation", "longer"]
)
def test_the_catalogue_names_every_run_and_the_notebook_reads_those_it_names(root, changes):
    given = study(root, **changes)
    ours = [name for name in plan(given) if name.startswith("govern/")]
    assert {name.rsplit("/seed-", 1)[0] for name in ours} == set(systems(given)) - {BASELINE}
    read = next(notebook.runs for notebook in notebooks(given) if notebook.name == "10_govern")
    assert read == [BASELINE, *ours]


def test_seeds_and_computing_may_be_the_sections_own(root):
    given = study(root, seeds=[3], precision="float32", kernels=False)
    runs = {name: run for name, run in plan(given).items() if name.startswith("govern/")}
    assert {run.seed for name, run in runs.items() if name.startswith(("govern/mean/", "govern/govern-ca/"))} == {3}
    assert {(run.precision, run.kernels) for run in runs.values()} == {("float32", False)}
    assert {plan(study(root))[name].precision for name in runs if "seed-0" in name} == {None}


def test_table_4_replaces_the_fifth_teacher_alone_by_a_better_or_a_worse_one(root):
    runs = plan(study(root))
    five, better, worse = (
        runs[f"govern/{name}/seed-0"].parents["teachers"] for name in ("govern-of-5", "one-better", "one-worse")
    )
    assert five[:4] == better[:4] == worse[:4]
    assert (better[4], worse[4]) == ("govern/teacher-2/seed-0", "govern/worse-teacher/seed-0")
    ablation, worse = govern_section(root)["ablation"], "govern/worse-teacher/seed-0"
    other = plan(study(root, ablation=ablation | {"worse": ablation["teacher"]}))
    as_student, as_teacher = plan(study(root))[worse].spec, other["govern/fold-5/seed-0"].spec
    assert other[worse].spec == as_teacher != as_student


def test_figure_2_has_the_points_of_the_parameters_and_up_to_two_teachers_one_student_serves_both_curves(root):
    ablation = govern_section(root)["ablation"] | {"teachers": [7, 2, 3, 1]}
    runs = plan(study(root, ablation=ablation))
    points = [name.split("/")[1] for name in runs if "-of-" in name and name.endswith("seed-0")]
    assert points == ["mean-of-1", "mean-of-2", "mean-of-3", "mean-of-7", "govern-of-3", "govern-of-5", "govern-of-7"]
    assert len(runs["govern/govern-of-7/seed-0"].parents["teachers"]) == 7


def test_encoders_may_start_from_their_backbone(root):
    runs = plan(study(root, start="backbone"))
    run = runs["govern/teacher-2/seed-0"]
    assert "start" not in run.parents
    assert run.spec["backbone"]["config"]["num_hidden_layers"] == 1
    assert run.data["vocabulary"]


def test_encoders_may_have_a_transfer_step_of_their_own_that_leaves_the_pool_unseen(root):
    unseen, fit = {"train": [str(root / "dev.tsv")]}, {"steps": 7, "learning_rate": 1e-3, "batch_size": 8}
    given = study(root, transfer=unseen, transfer_fit=fit)
    runs = plan(given)
    first = runs["govern/transfer-roberta-large/seed-0"]
    assert (first.data["train"], first.spec["training"]["steps"]) == (unseen["train"], 7)
    assert "roberta" in first.spec["backbone"]["config"]["model_type"]
    assert runs["govern/teacher-2/seed-0"].parents == {"start": [first.name]}
    govern = [run for name, run in runs.items() if name.startswith("govern/")]
    assert not [run for run in govern if any(one.startswith("transfer/") for one in run.parents.get("start", []))]
    assert runs["govern/teacher-2/seed-0"].spec["layers"] == 1
    with pytest.raises(ValueError, match="expected transfer beside a transfer set or fit of its own, got backbone"):
        study(root, transfer=unseen, start="backbone")
