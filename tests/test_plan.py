import subprocess
import sys

from as2lib import Study
from as2lib.papers import notebooks, plan
from as2lib.papers.cerberus import plan as cerberus_plan
from as2lib.papers.cerberus import systems as cerberus
from as2lib.runs.params import FAMILIES
from as2lib.runs.results import published
from tests.invented import whole


def test_parents_come_before_children(root):
    seen = set()
    for run in plan(Study.load("tiny")).values():
        assert seen >= set(run.parent_names)
        seen.add(run.name)


def test_the_catalogue_has_every_system_that_is_claimed_or_planned_but_what_others_are_made_from(root):
    splits = {role: str(root / f"{role}.tsv") for role in ("train", "dev", "test")}
    study = Study.load("tiny", {"data.transfer": splits, "mhs.heads": [1, 3, 5]})
    found, planned = cerberus.systems(study), {run.name.rsplit("/seed-", 1)[0] for run in cerberus_plan.runs(study)}
    claims = published("cerberus_claims").query("family == '07'")  # of two systems, each a row of its own
    assert {*claims["a"], *claims["b"]} <= set(found)
    members = {f"{before}kd/electra-from-{other}" for before in ("", "transfer-") for other in ("roberta", "albert")}
    assert planned - set(found) == {*members, "hydra-teacher/electra"}
    assert set(found) - planned == {"mhs/3h2", "mhs/3h4", "mhs/3h6"}  # two layers: a head of the paper's has one
    labels = [system.label for prefix, system in found.items() if not prefix.startswith("transfer")]
    assert len(set(labels)) == len(labels)


def test_a_study_without_a_papers_section_has_neither_its_runs_nor_its_notebook(root):
    of = {"08_cascade": ("cascade", "monolith", "wide"), "09_cosinet": ("cosinet", "ca/", "shuffled")}
    of |= {"10_govern": ("govern/",)}
    without, with_all = Study.load("tiny"), whole(root)
    for notebook, prefixes in of.items():
        for study, expected in ((without, False), (with_all, True)):
            assert any(name.startswith(prefixes) for name in plan(study)) == expected
            assert (notebook in [one.name for one in notebooks(study)]) == expected


def test_a_study_that_times_nothing_has_no_notebook_of_latency(root):
    timing = {"batch": 2, "repeats": 3, "rows": ["base/electra"]}
    without, with_it = (notebooks(Study.load("tiny", changes)) for changes in ({}, {"latency": timing}))
    assert [notebook.name for notebook in without if notebook.timed] == []
    assert [notebook.name for notebook in with_it if notebook.timed] == ["04_mhs_configs", "05_latency"]


STARTS = [  # what is done, in this order and in one process, and what must not have been imported by then
    ("import as2lib.data.sources", "torch transformers datasets pandas pyarrow numpy scipy"),
    ("from as2lib.__main__ import main; main(['plan', 'tiny'])", "torch transformers datasets pandas scipy"),
    ("from as2lib.report import dependencies, pages", "torch transformers datasets pandas scipy matplotlib"),
    ("import as2lib.metrics.ranking", "torch datasets scipy"),
    ("from as2lib import Study; Study.load('tiny').run('mhs/3h1/seed-0').scores('test')", "torch datasets"),
    ("import as2lib.data.pairs", "torch"),
    ("import as2lib.ranker, as2lib.serve.runtime", "torch"),
]


def test_what_starts_fast_imports_nothing_large(trained):
    code = "import sys\nfor step, names in eval(sys.argv[1]):\n    exec(step)\n"
    code += "    assert not (found := {*names.split()} & {*sys.modules}), (step, found)"
    found = subprocess.run([sys.executable, "-c", code, repr(STARTS)], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_table_four_scales_the_papers_heads_to_the_depth_and_adds_those_asked_for(root):
    study = Study.load("tiny", {"mhs.bodies": [1]})
    assert cerberus.head_depths(study) == [1]  # two layers: every head of the paper's 12 falls on one
    assert [cerberus.scaled(layers, 12) for layers in cerberus.HEAD_DEPTHS] == [1, 2, 4, 6]
    assert [cerberus.scaled(layers, 4) for layers in cerberus.HEAD_DEPTHS] == [1, 1, 1, 2]


def test_more_heads_than_teachers_learn_from_them_in_turn(root):
    run = plan(Study.load("tiny", {"mhs.heads": [1, 3, 5]}))["mhs/5h1/seed-0"]
    families = [name.split("/")[1] for name in run.parents["teachers"]]
    assert families == ["electra", "roberta", "albert", "electra", "roberta"]
    assert run.spec["mhs"]["heads"] == 5


def test_hydra_learns_from_base_models_that_differ_by_seed_whatever_the_studys_seeds(root):
    for seeds in ([0], [0, 1], [4, 2, 9, 1]):
        runs = plan(Study.load("tiny", {"seeds": seeds}))
        teachers = [runs[name] for name in runs[f"hydra/3h1/seed-{seeds[0]}"].parents["teachers"]]
        assert len({run.seed for run in teachers}) == len(teachers) == 3
        assert all(run.parents["start"] == ["transfer/electra-base/seed-0"] for run in teachers)


def test_the_transfer_set_is_a_target_where_it_has_dev_and_test(root):
    assert not [name for name in plan(Study.load("tiny")) if name.startswith("transfer-")]
    splits = {role: str(root / f"{role}.tsv") for role in ("train", "dev", "test")}
    study = Study.load("tiny", {"data.transfer": splits})
    runs, place = plan(study), cerberus.rows_on_second(study)
    paper = set(published("cerberus_table2")["run"])
    assert set(place.values()) == {"lexical/overlap_then_rank", *paper}
    assert all(any(name.startswith(f"{prefix}/seed-") or name == prefix for name in runs) for prefix in place)
    student = runs["transfer-mhs/3h1/seed-0"]
    assert "start" not in student.parents  # nothing is transferred
    assert student.parents["teachers"] == [f"transfer/{family}-large/seed-0" for family in FAMILIES]
    own = {"backbones.albert.base.transfer": {"train": str(root / "train.tsv")}}
    assert cerberus.rows_on_second(Study.load("tiny", {"data.transfer": splits, **own})) == {}
