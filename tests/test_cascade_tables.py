"""The cascade's tables, its measured work and its plan, on a tiny study of two exits."""

from pathlib import Path
from types import SimpleNamespace

import numpy
import pandas
import pytest

from as2lib import Study, models
from as2lib.metrics.ranking import summary
from as2lib.papers.cascade import measuring, ratios, systems, tables
from as2lib.papers.cascade.systems import RECIPES
from as2lib.runs.make import make_all
from as2lib.runs.params import FAMILIES
from as2lib.runs.results import published
from as2lib.runs.store import Store
from tests.conftest import write_study

TRAINING = {"steps": 4, "learning_rate": 1e-3, "batch_tokens": 120}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("cascade") / "root"
    wide = {split: str(root / f"{split}.tsv") for split in ("train", "dev", "test")}
    section = {"family": "electra", "exits": [1, 2], "transfer": wide, "fit": {"transfer": TRAINING, "adapt": TRAINING}}
    section["targets"] = {"TREC-QA": wide}
    write_study(root, cascade=section, seeds=[0, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(root))
        study = Study.load("tiny")
        names = [name for name in study.plan if name.startswith(("cascade", "monolith", "wide", "lexical/overlap"))]
        make_all(Store(study), names, progress=False)
    return root


@pytest.fixture
def study(folder, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(folder))
    return Study.load("tiny")


def test_both_steps_start_where_they_should(study):
    runs = study.plan
    assert runs["cascade/wide/seed-0"].parents == {"start": ["transfer/electra-base/seed-0"]}
    assert runs["monolith/1/wide/seed-0"].spec["layers"] == 1
    assert runs["cascade/target/seed-1"].parents == {"start": ["cascade/wide/seed-0"]}
    assert "dev" in runs["cascade/wide/seed-0"].data  # its drop ratios are picked there
    assert "dev" not in runs["monolith/1/wide/seed-0"].data
    assert runs["cascade-stopped/wide/seed-0"].spec["cascade"] == {"exits": [1, 2], "stop_gradient": True}
    assert runs["cascade-early/wide/seed-0"].spec["schedule"] == "early"
    untried = Study.load("tiny", {"cascade.ablations": False}).plan
    assert not [name for name in untried if name.startswith("cascade-")]


def test_a_cascade_may_have_another_first_step_than_the_models_of_one_depth(study):
    joint = {**TRAINING, "steps": 9}
    runs = Study.load("tiny", {"cascade.fit.joint": joint}).plan
    assert runs["cascade/wide/seed-0"].spec["training"]["steps"] == 9
    assert runs["monolith/2/wide/seed-0"] == study.plan["monolith/2/wide/seed-0"]
    assert runs["cascade/target/seed-0"] == study.plan["cascade/target/seed-0"]


def test_a_model_of_one_depth_may_read_the_mean_of_its_tokens_as_an_exit_does(study):
    mean = Study.load("tiny", {"cascade.mean": [1]})
    assert mean.plan["monolith/1/wide/seed-0"].spec["cascade"] == {"exits": [1]}
    assert mean.plan["monolith/1/target/seed-0"].spec["cascade"] == {"exits": [1]}
    assert mean.plan["monolith/2/wide/seed-0"] == study.plan["monolith/2/wide/seed-0"]
    said = "read the mean of their tokens, as exits do;"
    assert tables.sentences_budgets(mean) == [f"MT of depth 1 {said} the others the first token."]
    [of_all] = tables.sentences_budgets(Study.load("tiny", {"cascade.mean": [1, 2]}))
    assert of_all == f"MT of every depth {said} TANDA, which the paper's are, the first token."
    assert not tables.sentences_budgets(study)
    with pytest.raises(ValueError, match=r"mean: expected some of the exits \[1, 2\], got \[3\]"):
        Study.load("tiny", {"cascade.mean": [3]})


def test_a_cascades_identity_says_what_its_classifiers_start_with(study):
    store = Store(study)
    assert store.ingredients("cascade/wide/seed-0")["classifiers"] == "glorot"
    assert "classifiers" not in store.ingredients("monolith/2/wide/seed-0")


def test_a_pretrained_encoder_is_cut_to_each_depth_and_needs_no_run_before(study):
    hub = {"name": "some/encoder", "label": "4 layers", "config": None}
    backbones = {f: {"name": f, "large": hub, "base": hub} for f in FAMILIES}
    runs = Study.load("tiny", {"backbones": backbones}).plan
    assert runs["monolith/1/wide/seed-0"].spec["backbone"] == {"name": "some/encoder", "layers": 1}
    assert runs["cascade/wide/seed-0"].spec["backbone"] == {"name": "some/encoder", "layers": 2}
    assert not runs["cascade/wide/seed-0"].parents


def test_table_3_has_every_system_with_its_cost_and_the_published_row_in_the_same_place(study):
    table = tables.by_ratio(study, tables.scores(study, "wide"))
    assert table.loc["MT of 2 layers", "published GPD P@1"] == 67.5  # the full depth beside the full depth
    assert table.loc["MT of 1 layer", "published GPD P@1"] == 64.9
    assert table.loc["MT of 4 layers, published only", "published ASNQ MAP"] == 31.5
    assert table.loc["CT to layer 2, alpha 0.4", "published GPD P@1"] == 65.6
    assert table.loc["SR, alpha 0.5", "cost %"] == pytest.approx(0)  # (1 + 2 · 0.5) / 2
    assert table.loc["CT to layer 2, alpha 0.5", "cost %"] == pytest.approx(-25)
    assert len(table) == 1 + len(published("cascade_table3"))  # and the trivial baseline
    run = study.run("cascade/wide/seed-0").scores("test")
    expected = summary(run["question_id"], run["label"], run["exit_1"])
    assert table.loc["CT to layer 1, alpha 0", "MAP"] == pytest.approx(100 * expected["MAP"])


def test_table_2_has_means_over_seeds_beside_every_published_row(study):
    table = tables.by_depth(study)
    assert table.loc["CT, exit at layer 2", "published WikiQA MAP"] == 89.9
    assert table.loc["CT, exit at layer 2", "seeds"] == 2
    assert table["published WikiQA MAP"].dropna().tolist() == published("cascade_table2")["WikiQA MAP"].tolist()
    found = [
        summary(run["question_id"], run["label"], run["score"])["MAP"]
        for run in (study.run(f"monolith/2/target/seed-{seed}").scores() for seed in (0, 1))
    ]
    assert table.loc["MT of 2 layers", "MAP"] == pytest.approx(100 * numpy.mean(found))
    assert table.loc["MT of 2 layers", "MAP ±"] == pytest.approx(100 * numpy.std(found, ddof=1))
    further = study.run("monolith/2/TREC-QA/seed-0").scores()
    found = summary(further["question_id"], further["label"], further["score"])
    assert table.loc["MT of 2 layers", "TREC-QA MAP"] == pytest.approx(100 * found["MAP"])
    assert [sentence.split(",")[0] for sentence in tables.sentences_by_depth(study, table)][1] == "On TREC-QA"


def test_a_further_target_is_adapted_to_once_and_computes_as_its_section_says(study):
    runs = Study.load("tiny", {"cascade.seeds": [1], "cascade.precision": "float32", "cascade.kernels": False}).plan
    assert [name for name in runs if name.startswith("cascade/")] == [
        "cascade/wide/seed-0",
        "cascade/target/seed-1",
        "cascade/TREC-QA/seed-1",
    ]
    assert runs["cascade/TREC-QA/seed-1"].parents == {"start": ["cascade/wide/seed-0"]}
    assert (runs["monolith/1/wide/seed-0"].precision, runs["monolith/1/wide/seed-0"].kernels) == ("float32", False)


def test_a_further_target_without_dev_is_scored_on_its_test_set(study):
    pairs = {"train": study.wide.train, "test": study.wide.test}
    runs = Study.load("tiny", {"cascade.targets": {"more": pairs}}).plan
    assert runs["more/overlap_then_rank"].data == {"test": study.wide.test}
    assert runs["cascade/more/seed-0"].data == pairs


def test_a_further_target_whose_splits_share_questions_is_refused(study):
    pairs = {"train": study.wide.train, "test": study.wide.train}
    with pytest.raises(ValueError, match=r"cascade\.targets\.more: train and test are both"):
        Study.load("tiny", {"cascade.targets": {"more": pairs}, "data.allow_shared_questions": False})


@pytest.mark.parametrize("name", ["wide", "target", "a/b", ""])
def test_a_further_target_has_a_name_of_its_own(study, name):
    pairs = study.cascade.targets["TREC-QA"].model_dump()
    with pytest.raises(ValueError, match="targets: expected names"):
        Study.load("tiny", {"cascade.targets": {name: pairs}})


def test_stored_scores_give_the_ranking_of_the_model_itself(study):
    folder = study.run("cascade/wide/seed-0").model_folder
    model, batches = models.load(folder).eval(), measuring.question_batches(study, folder, 6)
    [table] = tables.scores(study, "wide")["CT to layer 2, alpha 0.5"]
    answered = table[table.groupby("question_id")["label"].transform("max") == 1]
    for batch, (_, page) in zip(batches, answered.groupby("question_id", sort=False), strict=False):
        expected = page["score"].reset_index(drop=True).sort_values(ascending=False).index.tolist()
        assert model.rank(batch, 0.5).order.tolist() == expected


def test_shares_of_dropped_answers_add_up(study):
    table = tables.pruned(study, tables.scores(study, "wide"))
    assert list(table) == ["behind layer 1", "never"]
    assert table.sum(axis=1).to_numpy() == pytest.approx(100)
    assert (table["never"].loc["CT to layer 2, alpha 0.5"] <= table["never"].loc["CT to layer 2, alpha 0.3"]).all()


def test_what_is_picked_on_dev_is_at_least_as_good_there_and_no_dearer(study):
    points = ratios.grid(study)
    assert len(points) == 6
    table = ratios.chosen(study, points)
    uniform, picked = table.iloc[::2].reset_index(), table.iloc[1::2].reset_index()
    assert (picked["dev P@1"] >= uniform["dev P@1"] - 1e-9).all()
    assert (picked["cost %"] <= picked["budget %"] + 1e-9).all()
    assert ratios.uniform(points, [0.3])["label"].tolist() == ["alpha 0.3 at every exit"]


def test_budgets_that_pick_the_same_ratios_count_once_at_the_tightest():
    rows = [(-30.0, "0.3", 80.0, 70.0), (-40.0, "0.4", 80.0, 68.0), (-50.0, "0.5", 80.0, 66.0)]
    picked = {-30.0: ("0.1", 84.0, 74.0), -40.0: ("0.6", 82.0, 65.0), -50.0: ("0.6", 82.0, 65.0)}
    found = [(budget, ratios.ALIKE, values, dev, test) for budget, values, dev, test in rows]
    found += [(budget, ratios.PICKED, *row) for budget, row in picked.items()]
    table = pandas.DataFrame(found, columns=["budget %", "ratios", "values", "dev P@1", "test P@1"])
    said = ratios.sentence_chosen(table, 40)
    assert said.startswith("For 3 budgets, 2 different combinations of ratios were picked on 40 questions of dev.")
    assert "picking adds 3.0 points of P@1 there, and on the test set it adds 1.5 points" in said  # 4 and 2; 4 and −1


def test_the_cost_with_floors_is_that_of_all_answered_questions(study):
    scores = tables.scores(study, "wide")
    table, baseline = tables.by_ratio(study, scores), scores[systems.TRIVIAL_LABEL][0]
    sizes = [len(page) for _, page in baseline.groupby("question_id") if page["label"].any()]
    left = sum(size - size // 2 for size in sizes) / sum(sizes)
    assert table.loc["CT to layer 2, alpha 0.5", "floors %"] == pytest.approx(100 * ((1 + left) / 2 - 1))
    assert table.loc["CT to layer 2, alpha 0.5", "cost %"] == pytest.approx(-25)


def test_a_rival_below_the_trivial_baseline_is_said_not_to_have_learnt(study):
    ct, sr, mt = (str(systems.Scheme(*one)) for one in (("CT", 2, 0.3), ("SR", 2, 0.3), ("MT", 1)))
    first, costs = str(systems.Scheme("CT", 1, 0.0)), {"P@1": 60.0, "cost %": -30.0, "floors %": -28.0}
    maps = pandas.Series({systems.TRIVIAL_LABEL: 60.0, ct: 70.0, sr: 50.0, mt: 40.0, first: 59.0})
    test = {"difference": 20.0, "low": 15.0, "high": 25.0, "p Holm": 0.0001, "p equal": 1.0}
    [said] = tables.sentences_rivals(study, maps.to_frame("MAP"), pandas.DataFrame([test], [f"{ct} − {sr}"]))
    assert said.endswith("; but below the trivial baseline (MAP 60.0), and so not learnt: SR, alpha 0.3 (50.0).")
    rows = maps.to_frame("MAP").assign(**costs)
    rows = pandas.concat(
        [rows, *([rows.loc[[ct]].set_axis([str(systems.Scheme("CT", 2, a))]) for a in (0.0, 0.4, 0.5)])]
    )
    *_, said = tables.sentences_by_ratio(study, rows)
    assert "MT of 1 layer (40.0), CT to layer 1, alpha 0 (59.0); SR drops" in said


def test_other_ways_of_training_have_a_row_each(study):
    table = tables.by_recipe(study)
    assert table.index.tolist() == [recipe.label for recipe in RECIPES.values()]
    assert table["mean"].iloc[0] == pytest.approx(table[["layer 1", "layer 2"]].iloc[0].mean())


def test_counted_operations_follow_the_exact_floors(study):
    measured = measuring.measure(study, questions=3, rounds=1)
    work, sizes = pandas.DataFrame(measured["work"]), measured["sizes"]
    table = tables.counted(study, work, sizes)
    assert table.loc["MT of 2 layers", "FLOPs %"] == 0
    assert table["FLOPs %"].to_numpy() == pytest.approx(table["floors %"].to_numpy(), abs=12)  # tiny layers, d = 16
    assert table.loc["CT to layer 2, alpha 0.5", "FLOPs %"] < table.loc["CT to layer 2, alpha 0.3", "FLOPs %"] < 5


def test_an_untrained_model_stands_in_for_one_whose_weights_are_not_kept(study, monkeypatch):
    before, names = measuring.measure(study, questions=2, rounds=1), measuring._names(study)
    assert before["untrained"] == []
    assert not measuring.note_untrained(study, before)
    kept = {name: study.store.find(name) for name in names}
    shapes = {name: models.load(kept[name].model_folder) for name in (names[0], names[2])}
    runs = {name: SimpleNamespace(folder=Path("nowhere")) if name in shapes else kept[name] for name in names}
    monkeypatch.setattr(type(study), "run", lambda _, name: runs[name])
    assert measuring.measure(study) is None  # these encoders start from nothing: there is none to build
    monkeypatch.setattr(measuring, "_untrained", lambda _, name: shapes[name])
    after = measuring.measure(study, questions=2, rounds=1)
    assert after["untrained"] == [*shapes]
    assert after["work"]["FLOPs a question (M)"] == before["work"]["FLOPs a question (M)"]
    assert "stand in for 2 of the 3, whose weights" in measuring.note_untrained(study, after)


def test_the_papers_average_batch(study):
    averages, sentence = measuring.throughput(study)
    assert averages["average_batch"] == pytest.approx(81.0)
    assert "shrink to 90, 63, 45, 32: 81.0 a layer on average (the paper: 80.2)" in sentence
    said = published("cascade_batches").set_index("quantity")["value"]
    layers = [4, 2, 2, 2, 2]
    batches = [said["candidates of the example"], *(said[f"batch after layer {n}"] for n in (4, 6, 8, 10))]
    printed = sum(n * batch for n, batch in zip(layers, batches, strict=True)) / 12
    assert printed == pytest.approx(said["average batch"], abs=0.05)


def test_budgets_that_differ_are_said_and_how_they_were_found(study, folder):
    assert systems.sentences_budgets(study) == []
    note = "Found in three trials."
    other = Study.load("tiny", {"cascade.fit.joint": TRAINING | {"steps": 6}, "cascade.note": note})
    assert systems.sentences_budgets(other) == [
        "On the wide set the cascade, one of whose exits learns a step, had 6 steps of at most 120 tokens at a rate "
        "of 0.001, last weights; every other model 4 steps of at most 120 tokens at a rate of 0.001, last weights.",
        note,
    ]


def test_the_figures_caption_says_from_which_cost_the_papers_accuracy_falls():
    assert ratios.note_grid().endswith("P@1 from 80.0 to 85.6; from a relative cost of 70 % on it tapers off.")
