import numpy
import pytest

from as2lib.metrics import threshold
from as2lib.metrics.ranking import summary
from as2lib.papers.govern import tables
from as2lib.runs.wording import signed, some

LONGER = ["govern/govern-longer", "govern/mean-longer"]


def test_threshold_metrics_are_over_all_questions_and_ranking_metrics_over_the_answered(voted):
    run = voted.find("govern/govern/seed-0")
    table, found = run.scores("test"), tables.measures(run, [0.9])
    columns = table["question_id"], table["label"], table["score"]
    assert table["question_id"].nunique() == 18
    assert summary(*columns)["questions"] == 15
    assert found["q R@P=90 (all)"] == 100 * threshold.question_recall_at_precision(*columns)
    assert found["MAP (answered)"] == 100 * summary(*columns)["MAP"]


def test_systems_stand_beside_the_published_ones_under_the_catalogues_names(voted):
    found = tables.students(voted.study)
    assert found.index[0] == "WO+RR (trivial baseline)"
    assert found.loc["student of GOVERN", "published q R@P=90"] == 83.65
    assert found.set_index("run").loc["govern/teacher-1", "published qp R@P=90"] == 70.52
    assert numpy.isnan(found["published q R@P=90"].iloc[0])
    recalls = found.loc["student of GOVERN", ["q R@P=90 (all)", "qp R@P=90 (all)"]]
    assert found.loc["student of GOVERN", "unreached"] == int(0 in recalls.to_list())
    beside, cost = tables.at_first_precision(voted.study, found), tables.at_other_precisions(voted.study, found)
    assert "published qp R@P=90" in beside
    assert cost.columns.to_list()[:5] == ["run", "seeds", "parameters", tables.AUC, f"{tables.AUC} ±"]
    shape = [f"published {name}" for name in ("parameters (M)", "layers", "hidden units", "attention heads")]
    assert cost.columns.to_list()[5:] == shape
    assert cost.set_index("run").loc["govern/teacher-1", shape].tolist() == [125, 12, 768, 12]


def test_the_students_are_set_beside_the_trivial_ranker_on_dev_before_any_test_set(voted):
    prefixes = ("govern/mean", "govern/lr", "govern/govern", "lexical/overlap_then_rank", *LONGER)
    found = {}
    for prefix in prefixes:
        tables_of_dev = [run.scores("dev") for run in voted.study.runs(prefix)]
        columns = [(one["question_id"], one["label"], one["score"]) for one in tables_of_dev]
        found[prefix] = 100 * numpy.mean([summary(*one)["MAP"] for one in columns])
    trivial, said = found.pop("lexical/overlap_then_rank"), tables.sentence_dev(voted.study)
    assert said.endswith(f"above the trivial baseline, {trivial:.1f}.")
    assert some(sum(one > trivial for one in found.values()), 5, "students") in said
    assert f"student of GOVERN {found['govern/govern']:.1f}" in said


def test_the_answer_is_of_the_longest_fits_and_a_sentence_says_what_they_bring(voted):
    study = voted.study
    assert tables.longest(study) == LONGER
    found, pairs = tables.students(study), tables.tests(study).index
    assert pairs[0] == "student of GOVERN, 2 epochs − student of the mean, 2 epochs"
    assert pairs[1] == "student of the mean, 2 epochs − student of the mean"
    first, more, *_ = tables.sentences_students(study, found)
    map_ = found.set_index("run")["MAP (answered)"]
    assert first.startswith("The student of GOVERN, 2 epochs minus the student of the mean, 2 epochs, in points: ")
    assert f"MAP (answered) {signed(map_[LONGER[0]] - map_[LONGER[1]])}" in first
    assert more.startswith("What 2 epochs on the pool in place of 4 steps bring the student of the mean, in points: ")
    assert more.endswith(f"{signed(map_[LONGER[1]] - map_['govern/mean'])} of MAP (answered).")


def test_without_longer_fits_the_answer_is_of_the_others(voted):
    govern = voted.study.govern.model_copy(update={"longer_fit": None})
    study = voted.study.model_copy(update={"govern": govern})
    assert tables.longest(study) == ["govern/govern", "govern/mean"]
    assert tables.sentences_longer(study, tables.students(voted.study)) == []


def test_gsb_with_itself_is_the_same_everywhere_and_the_papers_stands_below_ours(voted):
    found = tables.gsb(voted.study, "govern/mean", "govern/mean")
    assert found.loc["seed 0", ["good", "same", "bad", "gain", "p sign"]].tolist() == [0, 18, 0, 0, 1]
    table = tables.gsb(voted.study, "govern/mean", "govern/govern")
    assert table.loc["published, random queries", ["good", "same", "bad"]].tolist() == [27, 364, 9]
    assert table.loc["published, random queries", "p sign"] == pytest.approx(
        threshold.gsb([0] * 27 + [1] * 9, [1] * 27 + [0] * 9).p
    )
    assert table.loc["tail queries: not known"].isna().all()


def test_the_curves_of_vote_and_mean_start_at_the_same_point(voted):
    curve = tables.curve(voted.study)
    first = curve[curve["teachers"] == 1]
    assert first["system"].tolist() == ["GOVERN", "mean"]
    assert first["qp prAUC"].iloc[0] == first["qp prAUC"].iloc[1]
    points = tables.points(curve)
    assert points.index.tolist() == [1, 2]
    assert points.loc[1, "mean"] == first["qp prAUC"].iloc[0]
    assert points["mean ±"].isna().all()  # one seed


def test_one_teacher_of_five_is_replaced(voted):
    single = tables.single_teacher(voted.study)
    assert single.index[-3:].to_list() == ["the replaced teacher", "the better teacher", "the worse teacher"]
    change = tables.replacing(single)
    auc = single[tables.AUC]
    five, better = auc["GOVERN with 5 teachers"], auc["one replaced by a much better one"]
    assert change.loc["ours", "one better"] == better - five
    assert change.loc["published"].round(2).to_list() == [0.84, -0.08]


def test_without_texts_the_runs_say_how_many_pairs_they_learnt_from(voted, monkeypatch):
    whole = tables.data(voted.study)["pairs"]
    monkeypatch.setattr(tables, "at_hand", lambda *_: None)
    monkeypatch.setattr(tables, "pairs_of", lambda *_: None)
    found = tables.data(voted.study)
    assert found.loc[["unlabelled", "train"], "pairs"].tolist() == whole[["unlabelled", "train"]].tolist()
    assert found["questions"].isna().all()
    assert "The pool has" in tables.sentence_data(found)
