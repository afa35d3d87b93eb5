import numpy
import pandas
import pytest

from as2lib.metrics.ranking import summary
from as2lib.papers.cerberus import tables as cerberus_tables
from as2lib.runs import results as tables


def test_a_result_is_the_mean_over_seeds_in_percent_beside_the_published_one(trained):
    paper = tables.published("cerberus_table2")
    found = tables.results(trained.study, [("MHS", "mhs/3h1"), ("teacher", "teacher/electra")], beside=paper)
    scores = trained.study.run("mhs/3h1/seed-0").scores("test")
    expected = summary(scores["question_id"], scores["label"], scores["score"])
    assert found.loc["MHS", "MAP"] == pytest.approx(100 * expected["MAP"])
    assert found.loc["MHS", "questions"] == expected["questions"] == 15
    assert found.loc["MHS", "published MAP"] == 92.4
    assert found.loc["teacher", "published P@1"] == 86.7
    assert numpy.isnan(found.loc["MHS", "MAP ±"])  # one seed has no spread


def test_published_tables_have_the_papers_rows():
    table = tables.published("cerberus_table2")
    assert table["row"].tolist() == list(range(1, 15))
    assert tables.published("cerberus_table1").query("dataset == 'WikiQA' and split == 'test'")["pairs"].item() == 2351


def test_a_row_that_the_paper_lacks_is_missing_not_zero():
    found = tables.published_row(tables.published("cerberus_table2"), "ensemble/teachers", "WikiQA")
    assert all(numpy.isnan(value) for value in found.values())


def test_a_system_equals_itself(trained):
    names = {"mhs/3h1": "MHS", "teacher/electra": "teacher"}
    found = tables.comparisons(trained.study, [("mhs/3h1", "mhs/3h1"), ("mhs/3h1", "teacher/electra")], names)
    same = found.loc["MHS − MHS"]
    assert (same["difference"], same["won"], same["lost"], same["tied"]) == (0, 0, 0, 15)
    assert same["p Holm"] == 1
    assert "equal within the margin" in tables.reading(trained.study, "MHS − MHS", same)


def test_a_reading_says_different_equal_both_or_undecided(trained):
    def reading(p, q):
        row = pandas.Series({"difference": 3.0, "low": 1.0, "high": 5.0, "p Holm": p, "p equal": q})
        return tables.reading(trained.study, "a − b", row)

    assert reading(0.001, 0.9).endswith("a real difference (Wilcoxon, p = 0.001).")
    assert "equal within the margin" in reading(0.5, 0.0001)
    assert "real difference" in reading(0.001, 0.001)
    assert "within the margin" in reading(0.001, 0.001)
    assert "undecided" in reading(0.5, 0.5)


def test_heads_are_ranked_on_their_own(trained):
    heads, disagreement = cerberus_tables.heads(trained.study.runs("mhs/3h1"), ["a", "b", "c"])
    scores = trained.study.run("mhs/3h1/seed-0").scores("test")
    expected = summary(scores["question_id"], scores["label"], scores["head_1"])
    assert heads.loc["b", "MAP"] == pytest.approx(100 * expected["MAP"])
    assert heads.index.tolist() == ["a", "b", "c", "combined"]
    assert 0 <= disagreement <= 100


def test_curves_have_a_point_an_entry_and_a_part_a_head(trained):
    dev = tables.curves(trained.study, {"teacher": "teacher/electra"}, "dev_MAP")
    assert dev["step"].tolist() == [2, 4, 6]
    assert dev["dev_MAP"].between(0, 100).all()
    soft = tables.curves(trained.study, {"MHS": "mhs/3h1"}, "soft", ["a", "b", "c"])
    assert len(soft) == 3 * len([entry for entry in trained.study.run("mhs/3h1/seed-0").log() if "soft" in entry])
