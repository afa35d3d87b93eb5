import numpy
import pandas
import pytest

from as2lib.data.pairs import load_pairs
from as2lib.data.teacher_scores import TeacherScores
from as2lib.metrics.probability import sigmoid
from tests.data.conftest import write

ANSWERS = ['"so" it is', 'he said "no', "plain; and, more", "last"]
PAIRS = pandas.DataFrame({"question_id": [1, 1, 2, 2], "question": ["who ?"] * 2 + ["what ?"] * 2, "answer": ANSWERS})
PAIRS = PAIRS.assign(label=[1, 0, 1, 0], candidate_id=[7, 8, 7, 8])
ODDS = numpy.array([-2.0, 3.0, -1.0, 0.5])
BY_ID, BY_TEXT = (PAIRS[list(keys)].iloc[::-1] for keys in (("question_id", "candidate_id"), ("question", "answer")))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("table", [BY_ID.assign(log_odds=ODDS[::-1]), BY_TEXT.assign(probability=sigmoid(ODDS)[::-1])])
def test_each_pair_has_its_own_score_in_whatever_order_and_format(tmp_path, table, ending):
    path = write(tmp_path / f"scores.{ending}", table, [*table])
    numpy.testing.assert_allclose(TeacherScores.read(path).of(load_pairs(PAIRS)), ODDS)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (BY_ID.assign(score=1), "log_odds or probability"),
        (BY_ID[["question_id"]].assign(log_odds=1), "question and answer"),
        (pandas.concat([BY_ID.assign(log_odds=1), BY_ID], axis=1), "each once"),
        (BY_ID.assign(log_odds=["1", "high", "1", "1"]), "row 2: log_odds"),
        (BY_ID.assign(probability=[0, 1, 1, 2]), "row 4: probability"),
        (pandas.concat([BY_ID.assign(log_odds=1), BY_ID[:2].assign(log_odds=2)]), "others for 2"),
        (BY_ID[1:].assign(log_odds=1), "a row for each pair"),
    ],
)
def test_another_table_is_refused_in_one_line(tmp_path, table, named):
    table.to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(ValueError, match=rf"^[^\n]*scores.csv[^\n]*{named}[^\n]*$"):
        TeacherScores.read(tmp_path / "scores.csv").of(load_pairs(PAIRS))
