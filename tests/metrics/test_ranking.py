"""Facts about `as2lib.metrics.ranking`, against ir_measures, a loop over questions, and values worked by hand."""

import csv
import math
from pathlib import Path

import datasets
import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, Success, nDCG

from as2lib.metrics.ranking import MEASURES, average, per_question, summary, top

WIKIQA = Path(__file__).parents[3] / "shared" / "data" / "wikiqa"
ORACLE = {"P@1": P @ 1, "AP": AP, "RR": RR, "nDCG@10": nDCG @ 10}
OTHERS = {"R@20": R @ 20, "RR@10": RR @ 10, "Success@5": Success @ 5, "AP@10": AP @ 10}

# a few questions, few distinct scores: ties everywhere
rankings = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 1), st.sampled_from([-1.5, 0.0, 0.25, 3.0])),
    min_size=1,
    max_size=40,
)


def measure_by_loop(question_id, label, score, questions):
    """The straightforward implementation: sort, and walk down the list."""
    measures = {}
    for name in dict.fromkeys(question_id):
        candidates = [(-s, y) for q, y, s in zip(question_id, label, score, strict=True) if q == name]
        labels = [y for _, y in sorted(candidates)]
        correct = sum(labels)
        if (questions != "all" and not correct) or (questions == "mixed" and correct == len(labels)):
            continue
        ranks = [rank for rank, y in enumerate(labels, start=1) if y]
        ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(correct, 10) + 1))
        measures[name] = (
            labels[0],
            sum((i + 1) / rank for i, rank in enumerate(ranks)) / max(correct, 1),
            1 / ranks[0] if ranks else 0,
            sum(1 / math.log2(1 + rank) for rank in ranks if rank <= 10) / (ideal or 1),
        )
    return pd.DataFrame.from_dict(measures, orient="index", columns=list(MEASURES))


def measure_by_ir_measures(question_id, label, score, oracle=ORACLE):
    document = [str(row) for row in range(len(label))]
    judged = pd.DataFrame({"query_id": question_id, "doc_id": document, "relevance": label})
    scored = pd.DataFrame({"query_id": question_id, "doc_id": document, "score": score})
    metrics = pd.DataFrame(ir_measures.iter_calc(list(oracle.values()), judged, scored))
    values = metrics.assign(measure=metrics["measure"].map(str)).set_index(["query_id", "measure"])["value"]
    return pd.DataFrame({name: values.xs(str(measure), level="measure") for name, measure in oracle.items()})


def random_ranking(seed, rows=3000, questions=60):
    generator = np.random.default_rng(seed)
    question_id = [f"q{code}" for code in generator.integers(0, questions, rows)]
    label = (generator.random(rows) < generator.choice([0.02, 0.3], rows)).astype(np.int8)
    return question_id, label, 2 * generator.permutation(rows) + np.where(label, 1501, 0)  # odd and even: no ties


def read_published_run():
    judged = pd.read_csv(WIKIQA / "WikiQA-test-filtered.ref", sep=" ", names=["question", "_", "candidate", "label"])
    run_file = WIKIQA / "emnlp2015_runs" / "WikiQA.CNN-Cnt.test.rank"
    run = pd.read_csv(run_file, sep=" ", names=["question", "_", "candidate", "rank", "score", "run"])
    return judged.merge(run, on=["question", "candidate"], validate="one_to_one")


# --- against oracles ------------------------------------------------------------------------------------------------


def test_the_values_of_random_runs_are_those_of_ir_measures_where_no_scores_are_tied():
    values = 0
    for seed in range(4):
        question_id, label, score = random_ranking(seed)
        table = per_question(question_id, label, score, questions="all", measures=[*ORACLE, *OTHERS])
        expected = measure_by_ir_measures(question_id, label, score, ORACLE | OTHERS)
        np.testing.assert_allclose(table, expected.loc[table.index, table.columns], atol=1e-12)
        values += table.size
    assert values >= 1908


def test_measures_by_name_break_ties_as_all_others_do():
    question_id, label, _ = random_ranking(3, rows=400, questions=20)
    score = np.random.default_rng(0).integers(0, 3, len(label))
    names = ["P@1", "RR@1000", "Success@1", "AP@1000", "nDCG@10"]
    table = per_question(question_id, label, score, "all", [*names, "RR", "AP"])
    np.testing.assert_array_equal(table["Success@1"], table["P@1"])
    np.testing.assert_allclose(table["RR@1000"], table["RR"])
    np.testing.assert_allclose(table["AP@1000"], table["AP"])
    assert list(table.columns) == [*names, "RR", "AP"]
    worst = per_question(question_id, label, -np.asarray(label), "all", ["R@5", "Success@3"])
    pd.testing.assert_frame_equal(per_question(question_id, label, np.zeros(400), "all", ["R@5", "Success@3"]), worst)


def test_means_go_by_their_names_and_two_names_of_one_measure_agree():
    means = summary(list("aab"), [1, 0, 1], [1, 2, 3], measures=["R@1", "AP", "RR", "MAP@1000", "AP@1000"])
    assert means == {"R@1": 0.5, "MAP": 0.75, "MRR": 0.75, "MAP@1000": 0.75, "AP@1000": 0.75, "questions": 2}


@pytest.mark.parametrize("name", ["foo", "R@x", "alpha_nDCG@10", ""])
def test_a_measure_that_nobody_computes_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match=r"measures: expected names that ir_measures computes") as caught:
        per_question(["q"], [1], [1.0], measures=["AP", name])
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not WIKIQA.exists(), reason="WikiQA is not here")
def test_published_run_gets_its_published_figures():
    run = read_published_run()
    means = summary(run["question"], run["label"], run["score"])
    assert means["questions"] == 237
    assert [round(100 * means[name], 2) for name in ("P@1", "MAP", "MRR")] == [52.74, 65.91, 67.38]
    untied = run.drop_duplicates(["question", "score"])
    expected = measure_by_ir_measures(untied["question"].map(str), untied["label"], untied["score"])
    measures = per_question(untied["question"].map(str), untied["label"], untied["score"], "all")
    np.testing.assert_allclose(measures, expected.loc[measures.index, list(MEASURES)], atol=1e-12)


@pytest.mark.skipif(not WIKIQA.exists(), reason="WikiQA is not here")
def test_policies_keep_the_published_numbers_of_wikiqa_questions():
    table = pd.read_csv(WIKIQA / "WikiQA-test.tsv", sep="\t", quoting=csv.QUOTE_NONE)
    counts = {
        policy: summary(table["QuestionID"], table["Label"], np.arange(len(table)), policy)["questions"]
        for policy in ("answered", "mixed", "all")
    }
    assert counts == {"answered": 243, "mixed": 237, "all": 633}


@given(rankings, st.sampled_from(["answered", "mixed", "all"]))
def test_measures_equal_a_loop_over_questions_with_ties(ranking, questions):
    question_id, label, score = zip(*ranking, strict=True)
    table = per_question(question_id, label, score, questions)
    expected = measure_by_loop(question_id, label, score, questions)
    assert list(table.index) == list(expected.index)
    np.testing.assert_allclose(table, expected.to_numpy(dtype=float), atol=1e-12)
    assert table.to_numpy().min(initial=0) >= 0
    assert table.to_numpy().max(initial=0) <= 1


# --- worked by hand -------------------------------------------------------------------------------------------------


def test_measures_of_a_small_ranking_worked_by_hand():
    table = per_question(list("bbbbaa"), [0, 1, 0, 1, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.2, 0.1])
    assert list(table.index) == ["b", "a"]
    assert table.index.name == "question_id"
    assert list(table.columns) == ["P@1", "AP", "RR", "nDCG@10"]
    # b: correct at ranks 2 and 4: AP (1/2 + 2/4) / 2, nDCG (1/log2 3 + 1/log2 5) / (1 + 1/log2 3)
    np.testing.assert_allclose(table.loc["b"], [0, 0.5, 0.5, 0.6509209298071326], atol=1e-15)
    np.testing.assert_array_equal(table.loc["a"], [1, 1, 1, 1])


def test_summary_averages_over_the_questions_kept():
    arguments = ["a", "a", "b", "c"], [0, 1, 0, 1], [2, 1, 0, 0]
    assert summary(*arguments)["MAP"] == 0.75
    assert summary(*arguments, questions="mixed")["MAP"] == 0.5
    assert summary(*arguments, questions="all") == {
        "P@1": 1 / 3,
        "MAP": 0.5,
        "MRR": 0.5,
        "nDCG@10": pytest.approx((1 / math.log2(3) + 1) / 3),
        "questions": 3,
    }


@pytest.mark.parametrize("correct", range(1, 16))
def test_a_perfect_ranking_of_any_size_measures_exactly_one(correct):
    label = [1] * correct + [0] * 3
    assert (per_question(["q"] * len(label), label, -np.arange(len(label))) == 1).all(axis=None)


# --- ties -----------------------------------------------------------------------------------------------------------


def test_constant_scores_get_the_worst_possible_rank():
    question_id, label, _ = random_ranking(2)
    constant = per_question(question_id, label, np.zeros(len(label)))
    worst = per_question(question_id, label, -np.asarray(label))
    pd.testing.assert_frame_equal(constant, worst)
    reversed_order = per_question(question_id[::-1], label[::-1], np.zeros(len(label))).loc[constant.index]
    pd.testing.assert_frame_equal(constant, reversed_order)


def test_infinite_scores_are_ordered_and_tied_as_any_other():
    inf = math.inf
    table = per_question(list("aabbccd"), [1, 0, 1, 0, 1, 0, 1], [inf, inf, inf, 5, -inf, -inf, -inf], "all")
    assert table["P@1"].to_dict() == {"a": 0, "b": 1, "c": 0, "d": 1}
    assert table["RR"].to_dict() == {"a": 0.5, "b": 1, "c": 0.5, "d": 1}
    assert top(list("aab"), [1, 0, 1], [-inf, -inf, inf]).to_dict() == {"a": 1, "b": 2}
    assert per_question(list("aabb"), [0, 0, 1, 0], [inf, 1, 1, 0], "all")["AP"].to_dict() == {"a": 0, "b": 1}


def test_the_first_incorrect_one_of_the_leaders_is_the_top():
    rows = top(list("babbaa"), [1, 1, 0, 0, 1, 0], [5, 2, 5, 5, 2, 1])
    assert rows.to_dict() == {"b": 2, "a": 1}
    assert list(rows.index) == ["b", "a"]


def test_log_odds_keep_apart_what_probabilities_tie():
    margin = np.array([40.0, 39.0])
    assert summary(["q", "q"], [1, 0], 1 / (1 + np.exp(-margin)))["P@1"] == 0
    assert summary(["q", "q"], [1, 0], margin)["P@1"] == 1


# --- properties -----------------------------------------------------------------------------------------------------


@given(rankings, st.randoms(use_true_random=False))
def test_permuting_rows_changes_no_measure(ranking, random):
    shuffled = random.sample(ranking, len(ranking))
    before = per_question(*zip(*ranking, strict=True), questions="all")
    after = per_question(*zip(*shuffled, strict=True), questions="all")
    pd.testing.assert_frame_equal(before, after.loc[before.index], check_exact=True)
    assert average(before) == average(after)


# --- what comes in --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        lambda ids: np.array(ids, dtype=object),
        lambda ids: DATA.add_column("q", ids)["q"],
    ],
)
@pytest.mark.parametrize("ids", [["b", "a", "b", "a"], [7, 3, 7, 3]])
def test_any_kind_of_sequence_gives_the_same_table(kind, ids):
    label, score = [0, 1, 1, 0], pd.Series([1, 2, 3, 4], index=[3, 2, 1, 0])  # rows go by their place alone
    table = per_question(kind(ids), kind(label), score)
    assert list(table.index) == ids[:2]
    assert table["RR"].tolist() == [1, 0.5]


DATA = datasets.Dataset.from_dict({"row": range(4)})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["q"], [3], [0.5]), "label must be 0 or 1; row 0 has 3"),
        ((["q", "q"], [1, None], [0.5, 0.5]), "label must be 0 or 1; row 1 has nan"),
        ((["q"], ["1"], [0.5]), "label must be 0 or 1; row 0 has '1'"),
        ((["q", "q"], [0, 1], [0.5, math.nan]), "score must be a number; row 1 has nan"),
        ((["q"], [0], ["high"]), "score must be numbers"),
        ((["q"], [0, 1], [1]), "the same length; got question_id 1, label 2, score 1"),
        (([], [], []), "expected at least one row"),
        (
            (["q"], np.zeros((1, 1)), [1]),
            r"label must be a sequence with one value a row; got an array of shape \(1, 1\)",
        ),
        (("q", [0], [1]), "question_id must be a sequence"),
        (([None, "q"], [0, 1], [1, 1]), "question_id must be given for every row; row 0 has none"),
        ((["q"], [1], [1], "clean"), "questions must be one of answered, mixed, all; got 'clean'"),
        ((["q"], [0], [1.0]), 'expected at least one question .* under questions="answered"'),
    ],
)
def test_wrong_input_is_named_in_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        summary(*arguments)
    assert "\n" not in str(caught.value)
