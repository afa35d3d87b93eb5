import numpy
import pandas
import pytest

from as2lib.data.pairs import load_pairs
from as2lib.data.teacher_scores import TeacherScores

ANSWERS = ['"so" it is', 'he said "no', "plain; and, more", "last"]
PAIRS = pandas.DataFrame({"question_id": [1, 1, 2, 2], "question": ["who ?"] * 2 + ["what ?"] * 2, "answer": ANSWERS})
PAIRS["label"] = [1, 0, 1, 0]
ODDS = [-2.0, 3.0, -1.0, 0.5]
BEST_FIRST = PAIRS.assign(score=ODDS).sort_values("score", ascending=False)


def by_line(table, path):
    """A row a line, in which a quote is text."""
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in [table.columns, *table.to_numpy()]))


def lines_with_a_mark(table, path):
    path.write_text("\ufeff" + table.to_json(orient="records", lines=True))


WAYS = {
    "texts.csv": lambda path: BEST_FIRST.to_csv(path, index=False),
    "semicolons.csv": lambda path: BEST_FIRST.to_csv(path, index=False, sep=";"),
    "of-pandas.tsv": lambda path: BEST_FIRST.to_csv(path, index=False, sep="\t"),
    "texts.tsv": lambda path: by_line(BEST_FIRST, path),
    "texts.jsonl": lambda path: lines_with_a_mark(BEST_FIRST, path),
    "texts.parquet": lambda path: BEST_FIRST.to_parquet(path),
    "answers.csv": lambda path: BEST_FIRST[["question_id", "answer", "score"]].to_csv(path, index=False),
    "in-order.csv": lambda path: BEST_FIRST.sort_index()[["question_id", "score"]].to_csv(path, index=False),
    "row-by-row.csv": lambda path: BEST_FIRST.sort_index()[["answer", "score"]].to_csv(path, index=False),
}


@pytest.mark.parametrize("name", WAYS)
def test_each_pair_has_its_own_score_however_and_in_whatever_order_a_table_is_written(own_root, name):
    by_line(PAIRS, own_root / "my.tsv")
    WAYS[name](own_root / name)
    scores = TeacherScores.read(own_root / name, str(own_root / "my.tsv"))
    numpy.testing.assert_allclose(scores.of(load_pairs(own_root / "my.tsv")), ODDS)


def test_answers_that_are_not_those_of_the_pairs_row_by_row_are_refused(own_root):
    by_line(PAIRS, own_root / "my.tsv")
    BEST_FIRST[["answer", "score"]].to_csv(own_root / "scores.csv")
    with pytest.raises(ValueError, match="row 1"):
        TeacherScores.read(own_root / "scores.csv", str(own_root / "my.tsv"))
