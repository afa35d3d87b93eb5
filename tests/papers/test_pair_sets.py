import pandas
from datasets import Dataset

from as2lib.papers import pair_sets

ROWS = [
    ("q1", "who is it", "it is Ada", 1),
    ("q1", "who is it", "it is not", 0),
    ("q2", "where", "here", 1),
    ("q2", "where", "there and here", 1),
    ("q3", "when was that then", "never", 0),
]


def test_statistics_under_each_policy_are_those_counted_by_hand():
    pairs = pandas.DataFrame(ROWS, columns=["question_id", "question", "answer", "label"])
    table = pair_sets.statistics(Dataset.from_pandas(pairs))
    assert table["questions"].to_dict() == {"all": 3, "mixed": 1, "answered": 2}
    assert table["pairs"].to_dict() == {"all": 5, "mixed": 2, "answered": 4}
    assert table.loc["answered", ["correct", "candidates a question", "two or more correct"]].tolist() == [3, 2, 1]
    assert table.loc["all", "words a question"] == (3 + 3 + 1 + 1 + 4) / 5
    assert table.loc["answered", "words a candidate"] == (3 + 3 + 1 + 3) / 4
