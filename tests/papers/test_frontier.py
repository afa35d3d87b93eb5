from types import SimpleNamespace

import numpy
import pandas
import pytest

from as2lib.metrics.cost import cascade_cost
from as2lib.metrics.ranking import per_question
from as2lib.metrics.replay import replay
from as2lib.papers import costs, frontier
from as2lib.papers.costs import Lengths, Work
from as2lib.papers.frontier import Pipeline, Stage, operations, sequence

WORDS = Lengths(4.0, 10.0)  # of a question, of a candidate


# ---------------------------------------------------------------- what a ranker costs


def test_cosinet_reads_a_question_once_and_compare_aggregate_with_each_candidate():
    spec = {"type": "cosinet", "hidden": 3, "vectors": {"dimensions": 7}, "rank_rnn": None, "bidirectional": False}
    a_word = 5 * (7 + 1) * 3
    assert costs.without_transformer(spec, WORDS) == Work(a_word * 10 + 7 * 4 * 10, a_word * 4)
    assert costs.without_transformer({**spec, "related": False}, WORDS) == Work(a_word * 10, a_word * 4)
    birnn = costs.without_transformer({**spec, "rank_rnn": "rnn", "bidirectional": True}, WORDS)
    assert birnn.candidate - Work(a_word * 10 + 7 * 4 * 10).candidate == 2 * 1.5 * (6 + 1.5)  # two directions of f / 2
    work = costs.without_transformer({**spec, "type": "compare_aggregate", "rank_rnn": "lstm"}, WORDS)
    assert work.question == 2 * 7 * 3 * 4
    assert work.candidate == 2 * 7 * 3 * 10 + 3 * 3 * 40 + 15 * 9 * 14 + 4 * 6 * (2 * 15 + 6)


def test_a_row_pays_each_stage_for_what_is_left_with_floors():
    first, second = Stage("a", Work(1.0, 5.0)), Stage("b", Work(100.0))
    sizes = numpy.array([3, 7])
    assert operations(Pipeline("", "", (first, second), (4,)), sizes) == 5 + 5 + 100 * (3 + 4) / 2
    assert operations(Pipeline("", "", (first, second), (0.5,)), sizes) == 5 + 5 + 100 * (2 + 4) / 2  # 1 and 3 fall


def test_a_cascade_costs_what_its_formula_says():
    exits, sizes = (2, 3, 6), numpy.array([5, 12, 40])
    stages = tuple(Stage("ct", Work(10.0 * layers)) for layers in (2, 1, 3))
    cost = operations(Pipeline("", "", stages, (0.3, 0.3)), sizes)
    assert cost == pytest.approx(cascade_cost(6, exits, 0.3, sizes) * 60 * sizes.mean())


# ---------------------------------------------------------------- rankers in a row


def scored(seed=0, questions=6, stages=3):
    generator = numpy.random.default_rng(seed)
    question = pandas.Series(numpy.repeat(numpy.arange(questions), generator.integers(1, 7, questions)))
    label = pandas.Series(generator.integers(0, 2, len(question)))
    columns = [pandas.Series(generator.integers(0, 5, len(question)) / 4) for _ in range(stages)]  # with ties
    return question, label, columns


@pytest.mark.parametrize("seed", range(2))
def test_a_row_that_keeps_all_ranks_as_its_last_ranker(seed):
    question, label, columns = scored(seed)
    score = sequence(question, label, columns, (100, 0.0))
    expected = per_question(question, label, columns[-1], "all")
    pandas.testing.assert_frame_equal(per_question(question, label, score, "all"), expected)


def test_a_row_puts_what_the_first_ranker_drops_behind_in_its_order():
    question = pandas.Series(["q"] * 4 + ["r"] * 2)
    first, second = pandas.Series([0.9, 0.8, 0.7, 0.1, 0.2, 0.6]), pandas.Series([0.1, 0.5, 0.9, 1.0, 0.9, 0.8])
    score = sequence(question, pandas.Series([0] * 6), [first, second], (2,))
    order = [list(rows.sort_values(ascending=False).index) for _, rows in score.groupby(question)]
    assert order == [[1, 0, 2, 3], [4, 5]]


def test_a_row_with_a_share_prunes_as_the_cascade_does():
    question, label, columns = scored(3, questions=20)
    score = sequence(question, label, columns, (0.4, 0.4))
    expected = -replay(question, label, numpy.stack(columns, axis=1), 0.4).position
    ours, theirs = (per_question(question, label, values, "all") for values in (score, expected))
    pandas.testing.assert_frame_equal(ours, theirs)


def test_every_seed_of_a_stage_counts_as_much_as_its_others():
    def run(*values):
        table = pandas.DataFrame({"question_id": ["q"] * 3, "label": [1, 0, 0], "score": values})
        return SimpleNamespace(run=SimpleNamespace(data=["test"]), scores=lambda split: table)

    first, second = [run(3.0, 2.0, 1.0), run(1.0, 2.0, 3.0), run(2.0, 1.0, 3.0)], [run(1.0, 2.0, 3.0), run(3, 1, 2)]
    study = SimpleNamespace(runs={"a": first, "b": second, "c": second[:1]}.get)

    def orders(*systems):
        line = Pipeline("", "", tuple(Stage(name, Work(1.0)) for name in systems), (2,) * (len(systems) - 1))
        tables = frontier.scores(study, line)
        return ["".join(map(str, table["score"].sort_values(ascending=False).index)) for table in tables]

    assert sorted(orders("a", "b")) == sorted(["102", "012", "210", "210", "201", "021"])
    assert orders("a", "a", "c") == orders("a", "c")  # a stage of the same runs has the same seed


def test_the_candidate_that_most_heads_put_first_wins_and_the_mean_decides_the_rest():
    table = pandas.DataFrame({"question_id": ["q"] * 3, "score": [0.5, 0.6, 0.1]})
    table = table.assign(head_0=[0.6, 0.5, 0.1], head_1=[0.6, 0.5, 0.2], head_2=[0.3, 0.8, 0.0])
    assert frontier.column(table, "votes").tolist() == [4.5, 2.6, 0.1]


# ---------------------------------------------------------------- the front


def test_shares_of_bootstrap_samples_sum_to_the_mean_size_of_the_front_and_do_not_change():
    generator = numpy.random.default_rng(0)
    values, cost = generator.random((30, 6)), numpy.array([0, 1, 1, 2, 3, 4])
    values[:, 5] = values[:, 4] - 0.1  # dearer, and worse on every question
    found = frontier.shares(cost, values, 200)
    assert found[0] == 1  # nothing is as cheap
    assert found[5] == 0
    assert found[1] + found[2] <= 1
    numpy.testing.assert_array_equal(found, frontier.shares(cost, values, 200))


def test_a_budget_buys_the_best_of_dev_and_says_what_hindsight_had():
    columns = {"M operations": [0.0, 5.0, 5.0, 20.0], "parameters": [0, 1, 2, 3]}
    columns |= {"MAP": [50.0, 60.0, 65.0, 64.0], "P@1": [40.0, 50.0, 55.0, 54.0]}
    columns["dev MAP"] = [51.0, 62.0, numpy.nan, 62.0]
    rows = pandas.DataFrame(columns, index=["free", "first", "unseen", "dear"])
    choices = frontier.budgets(rows, 10.0)
    assert choices["system"].tolist() == ["free" if budget < 0.5 else "first" for budget in frontier.BUDGETS]
    assert choices.loc["1", ["in hindsight", "lost"]].tolist() == ["unseen", 5.0]
