import math

import numpy
import pandas
import pytest

from as2lib.study import Study, results
from as2lib.study.run import System


def scores_of(values: dict[str, list[list[float]]]) -> pandas.DataFrame:
    """SCORES whose AP are the values of each system, a list a seed; other measures are the same."""
    rows = [
        {"system": system, "seed": seed, "question_id": f"q{place}", "AP": ap, "P@1": ap, "RR": ap, "nDCG@10": ap}
        for system, seeds in values.items()
        for seed, column in enumerate(seeds)
        for place, ap in enumerate(column)
    ]
    return pandas.DataFrame(rows)


def system(run: str) -> System:
    return System(run, run, "", lambda seed: None)


def published(*rows: dict[str, float]) -> pandas.DataFrame:
    """Published numbers of "a", and of "b" where there are two rows."""
    return pandas.DataFrame(rows, index=pandas.Index(["a", "b"][: len(rows)], name="run"))


TWO = scores_of({"a": [[1.0, 0.5, 0.5], [0.5, 0.5, 0.5]], "b": [[0.5, 0.5, 0.25]]})


def test_the_frame_has_a_row_a_system_seed_and_question(root, fits):
    study = Study.load("tiny")
    systems = [study.systems["lexical/word_overlap"], study.systems["ensemble/tuned"]]
    scores = results.load(study, systems)
    assert list(scores.columns) == ["system", "seed", "question_id", "AP", "P@1", "RR", "nDCG@10"]
    assert list(scores["system"].unique()) == ["lexical/word_overlap", "ensemble/tuned"]
    assert scores.groupby(["system", "seed"]).size().tolist() == [15, 15, 15]  # three of 18 have no correct candidate
    assert len(results.load(study, systems, questions="all")) == 3 * 18
    assert scores.loc[scores["system"] == "lexical/word_overlap", "P@1"].mean() == 1.0


def test_a_table_has_means_over_seeds_in_percent_and_their_sample_deviation():
    table = results.table(TWO, [system("a"), system("b"), system("c")])
    assert table.index.name == "run"
    assert table.loc["a", "MAP"] == pytest.approx(100 * (2 / 3 + 1 / 2) / 2)
    assert table.loc["a", "MAP ±"] == pytest.approx(100 * (2 / 3 - 1 / 2) / math.sqrt(2))
    assert table["seeds"].tolist() == [2, 1, 0]
    assert math.isnan(table.loc["b", "MAP ±"])
    assert math.isnan(table.loc["c", "MAP"])


def test_published_numbers_stand_beside_ours():
    table = results.table(TWO, [system("a"), system("b")], published({"P@1": 60.0, "MAP": 70.0}))
    assert table.loc["a", "published MAP"] == 70.0
    assert math.isnan(table.loc["b", "published MAP"])
    assert "published MRR" not in table


def test_a_comparison_is_of_questions_means_over_seeds():
    row = results.compare(TWO, [("a", "b")], published({"MAP": 80.0}, {"MAP": 70.0})).loc[("a", "b")]
    assert row["difference"] == pytest.approx(100 * (0.25 + 0 + 0.25) / 3)
    assert (row["wins"], row["losses"], row["ties"]) == (2, 0, 1)
    assert row["p"] == pytest.approx(0.5)  # of four signs of two differences two are as large
    assert row["published"] == pytest.approx(10)
    assert row["zero inside"] == (row["low"] <= 0 <= row["high"])
    assert row["verdict"]


def test_what_is_published_of_neither_has_no_verdict():
    row = results.compare(TWO, [("a", "b")], published({"MAP": 80.0})).loc[("a", "b")]
    assert math.isnan(row["published"])
    assert not row["verdict"]


def test_questions_needed_make_the_interval_half_as_wide_as_the_published_difference():
    # Deviation 2, published 1: 1.96 · 2 / sqrt(n) < 1 / 2 from n = 62 on, as (2 · 1.96 · 2)² = 61.5
    differences = pandas.Series([2.0, -2.0] * 2000)
    assert results.questions_needed(differences, 1.0) == 62
    assert results.questions_needed(differences, -1.0) == 62
    assert math.isnan(results.questions_needed(differences, 0.0))


def test_a_system_without_scores_is_named():
    with pytest.raises(KeyError, match="no scores of 'c'; there are a, b"):
        results.compare(TWO, [("a", "c")])


def test_pooling_takes_the_questions_of_all_targets_each_among_its_own():
    noise = 0.1 * numpy.random.default_rng(0).random((4, 40))
    targets = {
        "easy": scores_of({"a": [0.9 + noise[0]], "b": [0.8 + noise[1]]}),
        "hard": scores_of({"a": [noise[2, :20]], "b": [noise[3, :20]]}),
    }
    pooled = results.pooled(targets, [("a", "b")]).loc[("a", "b")]
    one_by_one = [results.compare(scores, [("a", "b")]).loc[("a", "b"), "difference"] for scores in targets.values()]
    assert pooled["difference"] == pytest.approx((40 * one_by_one[0] + 20 * one_by_one[1]) / 60)
    # Between targets of such different difficulty unstratified draws would move the mean of a by dozens of points.
    assert pooled["high"] - pooled["low"] < 4
