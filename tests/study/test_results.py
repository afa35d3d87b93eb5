import math
from types import SimpleNamespace

import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.metrics.significance import holm, seeds_needed, signed_rank, smallest_difference
from as2lib.study import results
from as2lib.study.run import UNSEEDED, Row


def scores_of(values: dict[str, list[list[float]]]) -> pandas.DataFrame:
    """SCORES whose AP are the values of each system, a list a seed; other measures are the same."""
    rows = [
        {"system": system, "seed": seed, "question_id": f"q{place}", "AP": ap, "P@1": ap, "RR": ap, "nDCG@10": ap}
        for system, seeds in values.items()
        for seed, column in enumerate(seeds)
        for place, ap in enumerate(column)
    ]
    return pandas.DataFrame(rows)


def system(run: str) -> Row:
    return Row(run, run, "", "lexical", {"scorer": "word_overlap"}, {}, seeds=(0,))


def test_published_numbers_stand_beside_ours_and_any_measure_that_the_scores_have():
    table = results.table(TWO, [system("a"), system("b")], published({"P@1": 60.0, "MAP": 70.0}))
    assert table.loc["a", "published MAP"] == 70.0
    assert math.isnan(table.loc["b", "published MAP"])
    assert "published MRR" not in table
    scores = TWO.assign(**{"R@5": TWO["AP"] / 2, "target": "wikiqa"})  # a text is no measure
    table = results.table(scores, [system("a")], measures=["AP", "nDCG@10", "R@5"])
    assert list(table.columns) == ["MAP", "MAP ±", "nDCG@10", "nDCG@10 ±", "R@5", "R@5 ±", "seeds", "parameters"]
    assert table.loc["a", "R@5"] == pytest.approx(table.loc["a", "MAP"] / 2)
    with pytest.raises(KeyError, match="RR@10"):
        results.table(TWO, [system("a")], measures=["RR@10"])


def test_a_ranker_without_training_stands_beside_every_seed_and_two_differ_over_questions_alone():
    scores = noisy({"a": 0.5, "lexical/x": 0.3, "ranker/y": 0.2})
    scores = scores[(scores["system"] == "a") | (scores["seed"] == 0)]
    scores.loc[scores["system"] != "a", "seed"] = UNSEEDED
    row = results.compare(scores, [("a", "lexical/x")]).loc[("a", "lexical/x")]
    assert row["seeds"] == 3
    assert row["p"] < 0.05
    back = results.compare(scores, [("lexical/x", "a")]).loc[("lexical/x", "a")]
    assert (back["low"], back["high"], back["p"]) == (-row["high"], -row["low"], row["p"])
    two = results.compare(scores, [("lexical/x", "ranker/y")]).iloc[0]
    assert (two["low"], two["high"]) == (two["questions low"], two["questions high"])
    with pytest.raises(ValueError, match="q1"):  # a question that one seed lacks
        results.compare(TWO.drop(index=1), [("a", "b")])


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
    assert scores.loc[scores["system"] == "lexical/word_overlap", "seed"].unique().tolist() == [UNSEEDED]
    assert len(results.load(study, systems, questions="all")) == 3 * 18
    assert scores.loc[scores["system"] == "lexical/word_overlap", "P@1"].mean() == 1.0


def test_scores_are_those_of_the_best_weights_or_of_the_last_where_a_run_has_them():
    pairs = pandas.DataFrame({"question_id": ["q", "q"], "label": [1, 0], "score": [0.1, 0.9]})
    tables = {"fit": pairs.assign(last=[0.9, 0.1]), "lexical/x": pairs}
    stored = {
        name: SimpleNamespace(scores=lambda split, t=t: t, facts={}, published=None) for name, t in tables.items()
    }
    study = SimpleNamespace(systems={}, add=lambda systems: None, run=stored.get)
    systems = [system("fit"), system("lexical/x")]
    assert results.load(study, systems)["P@1"].tolist() == [0, 0]
    assert results.load(study, systems, weights="last")["P@1"].tolist() == [1, 0]
    assert results.load(study, systems, measures=["R@2"])["R@2"].tolist() == [1, 1]


def test_a_table_has_means_over_seeds_in_percent_and_their_sample_deviation():
    table = results.table(TWO, [system("a"), system("b"), system("c")])
    assert table.index.name == "run"
    assert table.loc["a", "MAP"] == pytest.approx(100 * (2 / 3 + 1 / 2) / 2)
    assert table.loc["a", "MAP ±"] == pytest.approx(100 * (2 / 3 - 1 / 2) / math.sqrt(2))
    assert table["seeds"].tolist() == [2, 1, 0]
    assert math.isnan(table.loc["b", "MAP ±"])
    assert math.isnan(table.loc["c", "MAP"])


def noisy(systems: dict[str, float], seeds: int = 3, questions: int = 200) -> pandas.DataFrame:
    """SCORES of systems with these means."""
    generator = numpy.random.default_rng(1)
    level = generator.normal(0, 0.3, questions)
    values = {
        name: [mean + level + generator.normal(0, 0.1, questions) for _ in range(seeds)]
        for name, mean in systems.items()
    }
    return scores_of(values)


def test_a_comparison_has_both_intervals_and_one_verdict():
    scores = noisy({"a": 0.5, "b": 0.45})
    row = results.compare(scores, [("a", "b")], published({"MAP": 80.0}, {"MAP": 75.0})).loc[("a", "b")]
    means = results.table(scores, [system("a"), system("b")])["MAP"]
    assert row["difference"] == pytest.approx(means["a"] - means["b"])
    assert row["low"] < row["questions low"] < row["difference"] < row["questions high"] < row["high"]
    assert (row["seeds"], row["wins"] + row["losses"] + row["ties"]) == (3, 200)
    assert row["wins"] > row["losses"]
    assert row["seen at best"] < row["smallest seen"] < row["seen at worst"]
    gaps = results.differences(scores, "a", "b").to_numpy()
    assert row["smallest seen"] == pytest.approx(100 * smallest_difference([gaps]))
    assert (row["Wilcoxon p"], row["seeds needed"]) == (signed_rank(gaps.mean(axis=1))[1], seeds_needed([gaps], 0.05))
    assert (row["published"], row["verdict"]) == (pytest.approx(5), "reproduced")
    assert row["p"] < 0.05
    assert not row["zero inside"]
    assert row["published inside"]


def test_both_questions_of_a_verdict_are_corrected_together():
    scores = noisy({"a": 0.5, **{f"b{n}": 0.44 + n / 100 for n in range(8)}}, 5, 60)
    pairs = [("a", f"b{n}") for n in range(8)]
    ours = results.compare(scores, pairs)["difference"]
    paper = pandas.DataFrame({"MAP": 80 - ours.droplevel("a") - 2.5}).rename_axis("run")
    paper.loc["a"] = 80.0
    tests = results.compare(scores, pairs, paper)
    corrected = results.compare(scores, pairs, paper, together=pairs, margin=0.8)
    for name, raw in (("p Holm", "p"), ("published p Holm", "published p")):
        assert corrected[name].tolist() == pytest.approx(holm(tests[raw]))
    told, ruled_out = (corrected[name] < 0.05 for name in ("p Holm", "published p Holm"))
    assert {*corrected.loc[told & ~ruled_out, "verdict"]} == {"reproduced"}
    assert {*corrected.loc[~told & ~ruled_out, "verdict"]} == {"undecided"}
    assert (corrected["smallest seen"] < corrected["Holm sees"]).all()
    two = results.compare(scores, pairs, paper, together=pairs[:2])  # the others are secondary
    assert two["p Holm"].notna().sum() == 2
    assert two["verdict"].tolist()[2:] == tests["verdict"].tolist()[2:]
    assert (two["Holm sees"].dropna() < corrected["Holm sees"].iloc[:2]).all()


def test_equality_is_out_of_reach_where_questions_alone_forbid_it_and_else_undecided():
    generator = numpy.random.default_rng(2)
    of_questions, noise = generator.normal(0, 0.2, 200), generator.normal(0, 0.2, (2, 3, 200))
    scores = scores_of({"a": [*noise[0]], "b": [*noise[1]], "c": [*(noise[1] + of_questions - of_questions.mean())]})
    tests = results.compare(scores, [("a", "b"), ("a", "c")], margin=2.5)
    assert tests["equivalent within 2.5"].tolist() == ["undecided", "out of reach"]
    assert (tests["equality seen"] < 5).all()


def test_seeds_are_paired_by_their_numbers_and_those_of_one_system_are_left_out():
    seeds = numpy.random.default_rng(0).normal(0.5, 0.2, (3, 50))
    scores = scores_of({"a": [*(seeds + 0.1)], "b": [*seeds]})
    shifted = scores_of({"a": [*(seeds + 0.1), seeds[0] - 9], "b": [*seeds]}).sample(frac=1, random_state=0)
    for table in (scores, shifted):  # whatever the order of the rows
        assert not results.differences(table.assign(**{"P@1": 0.0}), "a", "b", "P@1").any(axis=None)
        gaps = results.differences(table, "a", "b")
        assert list(gaps) == [0, 1, 2]
        numpy.testing.assert_allclose(gaps, 0.1)
        row = results.compare(table, [("a", "b")]).loc[("a", "b")]
        assert (row["low"], row["high"], row["seeds"]) == (pytest.approx(10), pytest.approx(10), 3)


def test_a_row_of_one_seed_has_no_verdict():
    row = results.compare(TWO, [("a", "b")], published({"MAP": 80.0}, {"MAP": 70.0})).loc[("a", "b")]
    assert row["difference"] == pytest.approx(100 * (0.5 + 0 + 0.25) / 3)  # of the seed that both have
    assert row[["low", "high", "p"]].isna().all()
    assert (row["zero inside"], row["published inside"], row["verdict"], row["seeds"]) == (None, None, "", 1)
    assert row["questions low"] <= row["difference"] <= row["questions high"]


def test_pooling_takes_the_questions_and_seeds_of_each_target_among_its_own():
    noise = 0.1 * numpy.random.default_rng(0).random((2, 2, 2, 40))
    targets = {
        "easy": scores_of({"a": [*(0.9 + noise[0, 0])], "b": [*(0.8 + noise[0, 1])]}),
        "hard": scores_of({"a": [*noise[1, 0, :, :20]], "b": [*noise[1, 1, :, :20]]}),
    }
    pooled = results.compare(targets, [("a", "b")]).loc[("a", "b")]
    # Between targets of such different difficulty unstratified draws would move the mean of a by dozens of points.
    assert pooled["questions high"] - pooled["questions low"] < 4
    backwards = dict(reversed(targets.items()))  # another study's page, on which it comes first
    pandas.testing.assert_series_equal(results.compare(backwards, [("a", "b")]).loc[("a", "b")], pooled)
    third = scores_of({"a": [*(0.9 + noise[0, 0]), [1] * 40], "b": [*(0.8 + noise[0, 1]), [0] * 40]})
    three = results.compare(targets | {"easy": third}, [("a", "b")]).loc[("a", "b")]
    pandas.testing.assert_series_equal(three, pooled)  # of two seeds each
