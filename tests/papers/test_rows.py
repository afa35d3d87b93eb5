"""The rows of the papers: which there are, what stands beside them, who teaches whom."""

import pytest

from as2lib import Study
from as2lib.papers import paper_tables
from as2lib.papers.cascade import analyses as cascade
from as2lib.papers.cascade.rows import schemes
from as2lib.papers.cerberus import analyses
from as2lib.papers.cerberus import rows as systems
from as2lib.papers.row import best_trivial
from as2lib.study.params import Pairs


def parents(study, name, role="teachers"):
    return [run.name for run in study.plan[name].parents[role]]


@pytest.mark.parametrize("table", ["table2", "table3"])
def test_every_published_row_is_a_system_in_the_papers_order(root, table):
    study = Study.load("tiny")
    published = [*paper_tables.published(study, "cerberus", table).index]
    ours = [row.run for row in getattr(systems, table)(study)]
    assert [run for run in ours if run in published] == published
    rows = systems.systems(study)
    assert len({row.run for row in rows}) == len({row.label for row in rows}) == len(rows)


def test_head_i_learns_from_teacher_i_in_turn_where_there_are_more_heads(root):
    study = Study.load("tiny")
    names = [f"teacher/{name}/seed-1" for name in study.teachers]
    assert parents(study, "mhs/3h1/seed-1") == names
    assert parents(study, "mhs/3h1/seed-1", "start") == parents(study, "base/electra/seed-1", "start")
    five = Study.load("tiny", {"mhs.heads": [5], "grid_seeds": [1]})
    assert parents(five, "mhs/5h1/seed-1") == [*names, *names[:2]]
    shape = {"body": 3, "heads": 5, "combine": "probability", "perturb": study.mhs.perturb}
    assert five.plan["mhs/5h1/seed-1"].spec["mhs"] == shape
    assert study.plan["mhs/3h2/seed-0"].spec["mhs"]["body"] == 2  # deeper heads leave fewer layers to it
    assert systems.stands_for(study) == {"mhs/3h1": "mhs/3h1", "mhs/3h2": "mhs/3h6"}
    assert "mhs/three-electra" not in study.systems  # of two seeds no three teachers come


def test_seeds_that_a_study_adds_leave_the_runs_before_them_what_they_were():
    three, five = Study.load("sample"), Study.load("sample", {"seeds": [0, 1, 2, 3, 4]})
    assert [name for name, run in three.plan.items() if five.plan[name] != run] == []
    assert parents(five, "mhs/three-electra/seed-4") == [f"teacher/electra/seed-{seed}" for seed in (4, 0, 1)]


def test_teachers_are_named_freely_and_are_as_many_as_the_file_has(root):
    content, names = Study.load("tiny").model_dump(exclude_unset=True), ("a", "b", "c", "d")
    electra = content["teachers"]["electra"] | {"stands_for": None}
    content["teachers"] = {name: electra | {"label": name} for name in names}
    study = Study.load(content)
    assert systems.roles(study).mhs == "mhs/4h1"
    assert parents(study, "mhs/4h1/seed-0") == [f"teacher/{name}/seed-0" for name in names]
    assert study.plan["mhs/4h1/seed-0"].spec["mhs"]["heads"] == 4
    assert analyses.published(study, "table2").index.str.endswith(systems.PAPER_TEACHERS).sum() == 0


def test_a_row_of_the_paper_stands_beside_the_teacher_that_stands_for_its_own():
    printed = paper_tables.published(Study.load("wikiqa"), "cerberus", "table2")
    paper = analyses.published(Study.load("wikiqa"), "table2")["WikiQA"]
    assert paper.loc["base/pointwise", "MAP"] == printed["WikiQA"].loc["base/electra", "MAP"]
    assert not {"base/listwise", "student/pairwise", "ensemble/bases"} & set(paper.index)
    assert {"ensemble/students", "hydra/3h1", "mhs/3h1"} <= set(paper.index)
    assert [*analyses.published(Study.load("sample"), "table2").index] == [*printed.index]


@pytest.mark.parametrize(("section", "page"), [("cascade", "08"), ("cosinet", "09"), ("govern", "10")])
def test_a_section_left_out_has_no_row_and_no_page_and_one_that_differs_keeps_its_runs(section, page):
    every, left_out = Study.load("sample"), Study.load("sample", {section: None})
    pages = [notebook.name[:2] for notebook in every.notebooks]
    assert [notebook.name[:2] for notebook in left_out.notebooks] == [name for name in pages if name != page]
    before, now = ({"data": {"target": {"dev": f"sample:dev{questions}"}}} for questions in ("", "=answered"))
    plan = Study.load("sample", now | {"differs": {section: before}}).plan
    kept = {run.system for name, run in plan.items() if every.plan[name] == run}
    own = {name for name, system in every.systems.items() if system.seeds} - set(left_out.systems)
    assert set() < own <= kept - {"mhs/3h1"} == kept


def test_rows_say_which_seeds_a_system_has_and_which_are_not_run(root, monkeypatch):
    monkeypatch.setattr(Study, "run", lambda study, name: name)
    seeds = {"hydra/3h1": [], "mhs/3h1": [1], "base/electra": [1], "teacher/electra": []}
    study = Study.load("tiny", {"rows": seeds})
    rows = {row.run: row for row in systems.table2(study)}
    assert (rows["hydra/3h1"].seeds, rows["mhs/3h1"].seeds) == ((), (1,))
    assert "hydra/3h1/seed-0" not in study.plan
    assert study.runs("base/electra") == ["base/electra/seed-1"]
    assert study.runs("teacher/electra") == ["teacher/electra/seed-0", "teacher/electra/seed-1"]  # of students
    every = systems.headline(Study.load("tiny"))
    assert systems.headline(study) == [pair for pair in every if not {"hydra/3h1", "teacher/electra"} & {*pair}]


def test_one_teacher_has_no_comparison_of_a_run_with_itself_and_no_page_of_heads_beside_others(root):
    content = Study.load("tiny").model_dump(exclude_unset=True)
    content["teachers"] = {"electra": content["teachers"]["electra"]}
    study = Study.load(content)
    identities = [{study.store.identity(f"{name}/seed-0") for name in pair} for pair in systems.headline(study)]
    assert {len(pair) for pair in identities} == {2}
    assert systems.stands_for(study) == {}
    assert "06" not in [notebook.name[:2] for notebook in study.notebooks]


def test_the_row_of_a_wrong_loss_is_named(root):
    with pytest.raises(ValueError, match=r"^own\.mine: loss kd: expected one teacher, got none"):
        Study.load("tiny", {"own": {"mine": {"loss": "kd"}}}).systems  # noqa: B018


@pytest.mark.parametrize("change", [{"own": {"mine": {"label": "MHS"}}}, {"rankers": {"MHS": "bm25"}}])
def test_two_systems_of_one_label_are_named(root, change):
    with pytest.raises(ValueError, match=r"/m.*: label: expected one of its own, got that of mhs/3h1, 'MHS'$"):
        Study.load("tiny", change).systems  # noqa: B018


def test_a_student_of_ones_own_is_taught_as_the_studys_students_are(root):
    own = {"mine": {"loss": "kd", "teachers": ["electra"]}, "plain": {"loss": "ce"}}
    changes = {"own": own, "distillation.alpha": 0.9, "teachers.electra.objective": "listwise"}
    plan = Study.load("tiny", changes).plan
    mine, student = plan["own/mine/seed-0"], plan["student/electra/seed-0"]
    for name in ("loss", "alpha", "tau", "calibration"):
        assert mine.spec[name] == student.spec[name]
    assert mine.parents["teachers"] == student.parents["teachers"]
    assert not {"alpha", "tau", "calibration"} & set(plan["own/plain/seed-0"].spec)


def test_rankers_that_read_the_order_stand_only_where_it_means_something_in_every_part():
    lexical = [run.spec["scorer"] for run in Study.load("selqa").plan.values() if run.kind == "lexical"]
    assert "word_overlap" in lexical
    assert not {"reciprocal_rank", "overlap_then_rank"} & {*lexical}
    parts = {"train": "wikiqa:train", "dev": "wikiqa:dev"}
    assert best_trivial(Pairs(**parts, test=["wikiqa:test"])) == "overlap_then_rank"
    assert best_trivial(Pairs(**parts, test=["wikiqa:test", "community-datasets/selqa:test>=15"])) == "word_overlap"


@pytest.mark.parametrize(("name", "deepest"), [("wikiqa", 6), ("sample", 4)])
def test_the_papers_deepest_model_stands_beside_our_deepest_and_its_ratios_beside_ours(name, deepest):
    study = Study.load(name, {"cascade.seeds": [0]})
    table2 = cascade.published(study, "table2", schemes(study, "target"))
    table3 = cascade.published(study, "table3", schemes(study))
    assert table2.loc[f"cascade, exit at layer {deepest}", "WikiQA MAP"] == 89.9
    assert table2.loc[f"one model of {deepest - 1} layers", "WikiQA MAP"] == 89.0
    assert table3.loc["models in sequence, 40% dropped", "cost"] == 18
    assert table3.loc[f"cascade, exit at layer {deepest - 1}", "cost"] == -20


def test_a_longer_cascade_has_the_steps_of_all_its_exits_and_differs_in_nothing_else():
    every = Study.load("wikiqa", {"cascade.ablations": True}).systems
    wide, longer = (every[f"{name}/wide"].spec for name in ("cascade", "cascade-longer"))
    assert longer["training"] == wide["training"] | {"steps": 5 * wide["training"]["steps"]}
    assert {**longer, "training": wide["training"]} == wide
