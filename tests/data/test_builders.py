import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from as2lib.data import load_pairs
from as2lib.data.builders import is_dev, natural_paragraphs, squad_sentences
from as2lib.data.sets import identity

CONTEXT = "Ada wrote a program. It computed numbers!  Nobody ran it."
NO_ANSWER = {"text": [], "answer_start": []}
P = "<P> Ada wrote it . </P>".split()
PAGE = ["<H1>", "Ada", "</H1>", *P, *"<Table> <P> a cell </P> </Table> <P> </P> <P> In 1843 . </P>".split()]
# An empty paragraph, the first, the table, the last, and the paragraph in the table's cell.
RANGES = [(15, 17), (3, 9), (9, 15), (17, 22), (10, 14)]
TOP_LEVEL = [True, True, True, True, False]


def squad(first, last=None):
    answers = {"text": [CONTEXT[first:last], "other"], "answer_start": [first, 0]} if first is not None else NO_ANSWER
    return {"id": "1", "question": " Who? ", "context": CONTEXT, "answers": answers}


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        ((24, 32), [0, 1, 0]),  # by its offset, not by finding the text
        ((21, 41), [0, 1, 0]),  # the whole sentence
        ((12, 32), [0, 0, 0]),  # across two sentences
        ((None, None), [0, 0, 0]),
    ],
)
def test_the_sentence_that_holds_the_first_answer_is_correct(span, labels):
    rows = list(squad_sentences([squad(*span)]))
    assert [row[2] for row in rows] == ["Ada wrote a program.", "It computed numbers!", "Nobody ran it."]
    assert [row[3] for row in rows] == labels
    assert {row[:2] for row in rows} == {("1", "Who?")}


def natural(chosen=(1, -1)):
    return {
        "id": "7",
        "question": {"text": "who wrote it"},
        "document": {"tokens": {"token": PAGE, "is_html": [token.startswith("<") for token in PAGE]}},
        "long_answer_candidates": {
            "start_token": [start for start, _ in RANGES],
            "end_token": [end for _, end in RANGES],
            "top_level": TOP_LEVEL,
        },
        "annotations": {"long_answer": [{"candidate_index": i} for i in chosen]},
    }


def test_paragraphs_come_in_the_pages_order_without_tables_what_is_nested_in_them_and_markup():
    rows = list(natural_paragraphs([natural()]))
    assert rows == [("7", "who wrote it", "Ada wrote it .", 1), ("7", "who wrote it", "In 1843 .", 0)]


def test_what_any_annotator_chose_is_correct_and_a_chosen_table_marks_none():
    assert [row[3] for row in natural_paragraphs([natural((1, 3))])] == [1, 1]
    assert [row[3] for row in natural_paragraphs([natural((2,))])] == [0, 0]


@pytest.mark.parametrize(("name", "record"), [("squad-sent", squad(0, 3)), ("nq-la", natural())])
def test_parquet_files_of_a_mapped_folder_become_pairs_with_a_tenth_of_the_training_questions_as_dev(
    tmp_path, write_local, name, record
):
    folder = tmp_path / "originals"
    folder.mkdir()
    write_local(**{name: folder})
    ids = [f"q{i}" for i in range(200)]
    parquet.write_table(pa.Table.from_pylist([record | {"id": i} for i in ids]), folder / "train-0.parquet")
    parquet.write_table(pa.Table.from_pylist([record | {"id": "t"}]), folder / "validation-0.parquet")
    train, dev, test = (set(load_pairs(name, split)["question_id"]) for split in ("train", "dev", "test"))
    assert train | dev == set(ids)
    assert not train & dev
    assert dev == {i for i in ids if is_dev(i)}
    assert 8 < len(dev) < 35
    assert test == {"t"}
    assert identity(name, "test")["files"] != identity(name, "train")["files"]
