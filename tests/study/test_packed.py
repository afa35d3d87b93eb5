import numpy
import pandas
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from as2lib.metrics.probability import sigmoid
from as2lib.study import packed

PROBABILITIES = st.floats(0, 1) | st.floats(-40, 40).map(lambda z: float(sigmoid(numpy.float64(z))))


def ranks(scores, question):
    return pandas.Series(scores).groupby(question).rank(method="min").tolist()


@given(st.lists(st.tuples(PROBABILITIES, st.integers(0, 3)), min_size=1, max_size=40))
@example([(0.7, 0), (0.7 + 1e-9, 0)])  # which no float32 tells apart
def test_log_odds_keep_probabilities_within_a_millionth_and_every_questions_order_and_ties(pairs):
    probability, question = map(numpy.array, zip(*pairs, strict=True))
    stored = packed.log_odds(probability, question)
    restored = sigmoid(stored.astype("float64")) if stored.dtype == "float32" else stored
    assert numpy.abs(restored - probability).max() <= packed.PRECISION
    assert ranks(restored, question) == ranks(probability, question)


@pytest.fixture
def tables():
    dev = pandas.DataFrame({"question_id": ["a", "a", "b"], "position": [0, 1, 0], "label": [0, 1, 1]})
    test = pandas.DataFrame({"question_id": ["c", "c"], "position": [0, 1], "label": [1, 0]})
    return {"dev": dev.assign(score=[0.1, 0.9, 0.5]), "test": test.assign(score=[0.3, 0.3], head_0=[0.2, 1.0])}


@pytest.mark.parametrize("probabilities", [True, False])
def test_a_runs_scores_come_back_by_split_with_the_columns_that_the_split_has(tmp_path, tables, probabilities):
    files = {split: packed.write_pairs(tmp_path, [f"my:{split}"], table) for split, table in tables.items()}
    packed.write_scores(tmp_path / "run.parquet", tables, probabilities)
    pairs = {split: packed.read_pairs(tmp_path / name) for split, name in files.items()}
    for split, table in tables.items():
        stored = packed.read_scores(tmp_path / "run.parquet", pairs, split)
        pandas.testing.assert_frame_equal(stored, table, check_dtype=False, atol=1e-6)


def test_equal_pairs_are_one_file_and_changed_ones_are_refused(tmp_path, tables):
    dev = tables["dev"]
    name = packed.write_pairs(tmp_path, ["my:dev=first80%"], dev)
    assert packed.write_pairs(tmp_path, ["my:dev=first80%"], dev.assign(score=0.0)) == name
    other = packed.write_pairs(tmp_path, ["my:dev=first80%"], dev.assign(label=1))
    assert other != name
    (tmp_path / name).write_bytes((tmp_path / other).read_bytes())
    with pytest.raises(ValueError, match="other pairs than its name says"):
        packed.read_pairs(tmp_path / name)
