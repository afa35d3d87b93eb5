from types import SimpleNamespace

import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.papers import paper_tables
from as2lib.papers.cerberus import analyses
from as2lib.papers.cerberus.analyses import Seed

CONTROLS = ["base/electra", "lexical/overlap_then_rank"]
HEADS = ["head_0", "head_1", "head_2"]
RIGHT = [0.9, 0.1, 0.2, 0.3, 0.8, 0.1]  # the scores of two questions' candidates
HALF = [0.1, 0.9, 0.2, 0.3, 0.8, 0.1]  # another top candidate, a wrong one, in the first of them


def stored(**columns):
    table = pandas.DataFrame({"question_id": ["q"] * 3 + ["r"] * 3, "label": [1, 0, 0, 0, 1, 0], **columns})
    return SimpleNamespace(scores=lambda split="test": table, run=SimpleNamespace(seed=0))


def test_one_sure_head_outweighs_two_in_the_mean_of_logits_and_not_of_probabilities():
    heads = {"head_0": [0.999999, 0.5, 0.1], "head_1": [0.4, 0.7, 0.1], "head_2": [0.4, 0.7, 0.1]}
    table = pandas.DataFrame({"question_id": ["q"] * 3, "label": [1, 0, 0], "score": [0.6, 0.63, 0.1], **heads})
    combined = analyses.combined_heads([SimpleNamespace(scores=lambda: table)])
    assert combined["P@1"].to_dict() == {"probability": 0, "logit": 100}


def seed(heads, teachers, label, question):
    index = pandas.MultiIndex.from_arrays([question, range(len(question))], names=["question_id", "position"])
    names = ["teacher/electra", "teacher/roberta", "teacher/albert"]
    frames = [
        pandas.DataFrame(dict(zip(columns, values, strict=True)), index)
        for columns, values in (([*HEADS, *CONTROLS], [*heads, *heads[:2]]), (names, teachers))
    ]
    rankers = frames[0][[*CONTROLS]].assign(**{"mhs/3h1": heads[0]})[["mhs/3h1", *CONTROLS]]
    return Seed(0, *frames, rankers, pandas.Series(label, index), index.get_level_values("question_id"))


def drawn(copies=False, questions=30, seed_=0):
    """Three teachers at random, and heads that copy them, or are as random."""
    generator = numpy.random.default_rng(seed_)
    question, label = numpy.repeat(numpy.arange(questions), 4), numpy.tile([1, 0, 0, 0], questions)
    teachers = [generator.random(len(question)) + 0.3 * label for _ in range(3)]
    heads = teachers if copies else [generator.random(len(question)) for _ in range(3)]
    return seed(heads, teachers, label, question)


def test_a_head_that_copies_its_teacher_resembles_it_and_one_that_does_not_none():
    own = analyses.own_teacher(analyses.agreements([drawn(copies=True)]))
    assert (own["own"] == 1).all()
    assert (own["first"] == 3).all()
    assert analyses.own_teacher_test([drawn(copies=True)]).iloc[0]["low"] > 0
    test = analyses.own_teacher_test([drawn(copies=False)]).iloc[0]
    assert test["low"] < 0 < test["high"]


def test_a_student_stands_beside_the_teachers_of_its_own_seed(invented):
    study = Study.load("tiny", {"rows": {"mhs/3h1": [1]}})
    [only] = analyses.by_seed(study)
    teacher = study.run("teacher/electra/seed-1").scores().set_index(["question_id", "position"])["score"]
    assert only.number == 1
    assert only.teachers["teacher/electra"].equals(teacher.loc[only.teachers.index].rename("teacher/electra"))


def test_every_question_falls_in_one_case_and_the_surest_teacher_comes_first():
    seeds = [drawn(), drawn(seed_=1)]
    cases = analyses.majorities(seeds, paper_tables.read("cerberus", "majority"))
    assert cases["questions"].sum() == 30
    assert cases["mhs/3h1"].sum() == pytest.approx(100)
    assert cases["published questions"].tolist() == [197, 17, 1, 28]  # of the paper's 243
    assert cases["published"].sum() == pytest.approx(100)
    table, by_case = analyses.overridden(seeds), analyses.confidence_by_case(seeds)
    assert table["surest"].is_monotonic_decreasing
    assert by_case["questions"].sum() == 60
    assert by_case.loc[analyses.CASES["overrides"], "surest"] == pytest.approx(table["surest"].mean())


def test_a_ranker_that_is_worse_on_every_question_is_correlated_all_the_same():
    good = 0.3 + 0.7 * numpy.random.default_rng(0).random(60)
    frames = [
        pandas.DataFrame({"system": name, "seed": 0, "question_id": range(60), "AP": values, "P@1": values})
        for name, values in {"a": good, "b": good - 0.2}.items()
    ]
    table = analyses.papers_tests(pandas.concat(frames), [("a", "b"), ("b", "a")])
    assert table.loc[("a", "b"), "Spearman"] == pytest.approx(1)
    assert table.loc[("a", "b"), ["Spearman p", "Wilcoxon p"]].max() < 0.001
    assert table.loc[("a", "b"), "effect"] == 1
    assert table["Wilcoxon p Holm"].tolist() == [2 * p for p in table["Wilcoxon p"]]  # of two alike


def test_the_share_of_disagreement_counts_questions_and_pairs_of_heads():
    for heads, share in (([RIGHT, RIGHT], 0), ([RIGHT, HALF], 50), ([RIGHT, RIGHT, HALF], 100 / 3)):
        columns = {f"head_{number}": head for number, head in enumerate(heads)}
        assert analyses.disagreement([stored(**columns)]) == pytest.approx(share)
