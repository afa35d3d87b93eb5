import numpy
import pytest

from as2lib.metrics import threshold
from as2lib.metrics.ranking import summary
from as2lib.papers.govern import answers
from as2lib.runs import results as tables


def test_threshold_metrics_are_over_all_questions_and_ranking_metrics_over_the_answered(voted):
    run = voted.find("govern/govern/seed-0")
    table, found = run.scores("test"), answers.measures(run)
    columns = table["question_id"], table["label"], table["score"]
    assert table["question_id"].nunique() == 18
    assert summary(*columns)["questions"] == 15
    assert found["q R@P=90 (all)"] == 100 * threshold.question_recall_at_precision(*columns)
    assert found["MAP (answered)"] == 100 * summary(*columns)["MAP"]


def test_results_stand_beside_the_published_ones(voted):
    systems = [("teacher", "govern/teacher-1"), ("GOVERN", "govern/govern"), ("WO", "lexical/word_overlap")]
    found = answers.results(voted.study, systems, tables.published("govern_table2"))
    assert found.loc["GOVERN", "published q R@P=90"] == 83.65
    assert found.loc["teacher", "published qp R@P=90"] == 70.52
    assert numpy.isnan(found.loc["WO", "published q R@P=90"])
    assert found.loc["GOVERN", "unreached"] == int(0 in found.loc["GOVERN", answers.recalls([0.9])].to_list())


def test_the_published_tables_are_the_papers():
    assert tables.published("govern_table2")["q R@P=90"].max() == 84.16
    table = tables.published("govern_table3")
    gains = 100 * (table["good"] - table["bad"]) / (table["good"] + table["same"] + table["bad"])
    assert gains.tolist() == pytest.approx(table["gain"].tolist())
    assert tables.published("govern_table1").set_index("dataset").loc["train", "pairs"] == 2_472_749
    assert tables.published("govern_table4")["qp prAUC"].tolist() == [88.19, 89.03, 88.11]


def test_a_system_against_itself_is_the_same_everywhere(voted):
    found = answers.gsb(voted.study, "govern/mean", "govern/mean")
    assert found.loc["seed 0", ["good", "same", "bad", "gain", "p sign"]].tolist() == [0, 18, 0, 0, 1]


def test_the_papers_gsb_stands_below_ours_and_tail_queries_stay_empty(voted):
    table = answers.beside_published_gsb(answers.gsb(voted.study, "govern/mean", "govern/govern"))
    assert table.loc["published, random queries", ["good", "same", "bad"]].tolist() == [27, 364, 9]
    assert table.loc["tail queries: not known"].isna().all()


def test_the_curves_of_vote_and_mean_start_at_the_same_point(voted):
    curve = answers.teachers_curve(voted.study)
    first = curve[curve["teachers"] == 1]
    assert first["system"].tolist() == ["GOVERN", "mean"]
    assert first["qp prAUC"].nunique() == 1
    points = answers.mean_and_spread(curve)
    assert points.index.tolist() == [1, 2]
    assert points.loc[1, "mean"] == first["qp prAUC"].iloc[0]


def test_every_group_of_teachers_is_looked_at_once(voted):
    runs = {f"F{i}": voted.find(f"govern/fold-{i}/seed-0") for i in range(1, 6)}
    found = answers.premises(runs)
    assert len(found) == 10
    assert found.index[0] == "F1 + F2 + F3"
    assert len(answers.premises(runs | {"again": runs["F1"]})) == 10
    alone = answers.premises({"F1": runs["F1"]}).loc["F1"]
    assert alone["vote"] == alone["mean"] == alone["teacher"]
