import numpy
import pandas
import pytest

from as2lib import Study
from as2lib.metrics.cost import Work
from as2lib.papers import beyond, frontier
from as2lib.papers.cascade.rows import Scheme
from as2lib.papers.frontier import Pipeline, operations


def test_what_only_tells_one_thing_from_another_is_no_system_to_choose():
    study = Study.load("wikiqa")
    ranked = beyond.ranked(study)
    assert {"mhs/3h1", "cosinet/birnn", "cascade/target", "govern/teacher-1", "govern/govern"} <= set(ranked)
    beside = ["cosinet/birnn-shuffled", "shuffled/cosinet/birnn", "govern/fold-1", "govern/worse-teacher"]
    assert set(beside) <= set(study.systems)
    assert not set(beside) & set(ranked)


def test_the_labels_only_student_stays_where_the_teacher_is_the_same_fit(root):
    teacher = Study.load("tiny").teachers["electra"].config
    study = Study.load("tiny", {"student.config": teacher, "cosinet": None})
    assert study.store.identity("base/electra/seed-0") == study.store.identity("teacher/electra/seed-0")
    labels = [pipeline.label for pipeline in frontier.pipelines(study)]
    assert "labels-only student" in labels  # all costs are counted by it
    assert "ELECTRA teacher" not in labels


@pytest.mark.parametrize(
    ("name", "kind", "several", "one"),  # whether dev can choose it where the study has several seeds, and one
    [
        ("mhs/3h1", "heads", True, True),
        ("mhs/5h1", "heads", False, True),  # of one seed
        ("ensemble/students", "ensemble", False, False),  # its weights were fitted to dev
        ("lexical/word_overlap", "trivial", True, True),  # has no seed that could be lucky
    ],
)
def test_dev_chooses_no_system_of_one_seed_where_others_have_several(name, kind, several, one):
    pipeline = Pipeline("", kind, (name,), ())
    assert frontier.can_be_chosen(Study.load("wikiqa"), pipeline) == several
    assert frontier.can_be_chosen(Study.load("wikiqa", {"seeds": [0], "grid_seeds": [0]}), pipeline) == one


def test_a_ranker_pays_each_stage_for_what_is_left_with_floors():
    first, second, sizes = Work(1.0, 5.0), Work(100.0), numpy.array([3, 7])
    assert operations(Pipeline("", "", (), (first,)), sizes) == 5 + 5
    two = Pipeline("", "", (), (first, second), Scheme("SR", 2, 0.5))
    assert operations(two, sizes) == 5 + 5 + 100 * (2 + 4) / 2  # 1 and 3 fall


def test_an_ensemble_pays_for_each_member_and_a_cascade_once_for_each_layer():
    study = Study.load("wikiqa")
    single = frontier.of_one_stage(study, beyond.ranked(study))
    price = {name: pipeline.work[0].candidate for name, pipeline in single.items()}
    assert price["ensemble/students"] == sum(price[f"student/{name}"] for name in study.teachers)
    assert price["lexical/word_overlap"] == 0
    for pipeline in (each for each in frontier.cascades(study, single) if each.scheme.method == "CT"):
        depth = (study.cascade.exits[-1] if pipeline.scheme.alpha else pipeline.scheme.layers) / study.cascade.exits[-1]
        assert sum(stage.candidate for stage in pipeline.work) == pytest.approx(depth * price[pipeline.systems[0]])


def test_shares_of_bootstrap_samples_sum_to_the_mean_size_of_the_front_and_do_not_change():
    generator = numpy.random.default_rng(0)
    values, cost = generator.random((30, 6)), numpy.array([0, 1, 1, 2, 3, 4])
    values[:, 5] = values[:, 4] - 0.1  # dearer, and worse on every question
    shares = frontier.shares(cost, values, 200)
    assert (shares[0], shares[5]) == (1, 0)  # nothing is as cheap as the first
    assert shares[1] + shares[2] <= 1
    numpy.testing.assert_array_equal(shares, frontier.shares(cost, values, 200))


def test_a_budget_buys_the_best_of_dev_and_says_what_hindsight_had():
    columns = {"M operations": [0.0, 5.0, 5.0, 20.0], "parameters": [0, 1, 2, 3], "seeds": [1, 2, 3, 3]}
    columns |= {"MAP": [50.0, 60.0, 65.0, 64.0], "P@1": [40.0, 50.0, 55.0, 54.0]}
    columns["dev MAP"] = [51.0, 62.0, numpy.nan, 62.0]
    rows = pandas.DataFrame(columns, index=["free", "first", "unseen", "dear"])
    choices = frontier.budgets(rows, 10.0)
    assert choices["system"].tolist() == ["free" if budget < 0.5 else "first" for budget in frontier.BUDGETS]
    assert choices.loc["1", ["in hindsight", "lost"]].tolist() == ["unseen", 5.0]
