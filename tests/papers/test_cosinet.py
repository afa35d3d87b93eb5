import numpy
import pandas
import pytest

from as2lib.papers.cosinet.analyses import rerank, two_stages


def table(*scores, label=(0, 0, 1, 0, 1)):
    ids = ["q", "q", "q", "r", "r"]
    return pandas.DataFrame({"question_id": ids, "position": [0, 1, 2, 0, 1], "label": label, "score": scores})


def test_the_second_ranker_orders_what_the_first_keeps_and_the_rest_stays_behind():
    first, second = table(0.9, 0.8, 0.7, 0.1, 0.2), table(0.1, 0.3, 0.9, 0.6, 0.5)
    score = pandas.Series(rerank(first, second, 2))
    assert score.groupby(first["question_id"]).apply(lambda s: list(s.sort_values(ascending=False).index)).tolist() == [
        [1, 0, 2],
        [3, 4],
    ]


def test_keeping_all_candidates_is_the_second_ranker_and_costs_both():
    first, second = table(0.9, 0.8, 0.7, 0.1, 0.2), table(0.1, 0.3, 0.9, 0.6, 0.5)
    numpy.testing.assert_array_equal(rerank(first, second, 3), 1 + second["score"])
    stages = two_stages([first], [second], relative_cost=0.1)
    assert stages.index.tolist() == [1, 2, 3]
    assert stages.loc[3, "cost %"] == pytest.approx(110)
    assert stages.loc[1, "candidates left %"] == pytest.approx(40)  # two of five
    assert stages.loc[3, "P@1"] == 50
