import gzip
import json

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml

from as2lib.data.builders import is_dev, natural_paragraphs, squad_sentences
from as2lib.data.pairs import load_pairs
from as2lib.data.sources import identity

CONTEXT = "Ada wrote a program. It computed numbers!  Nobody ran it."
NO_ANSWER = {"text": [], "answer_start": []}
P = "<P> Ada wrote it . </P>".split()
PAGE = ["<H1>", "Ada", "</H1>", *P, *"<Table> <P> a cell </P> </Table> <P> </P> <P> In 1843 . </P>".split()]
RANGES = [(12 + 3, 12 + 5), (3, 9), (9, 15), (17, 22)]  # an empty paragraph, the first, the table, the last


def squad(first, last=None):
    answers = {"text": [CONTEXT[first:last], "other"], "answer_start": [first, 0]} if first is not None else NO_ANSWER
    return "here", {"id": "1", "question": " Who? ", "context": CONTEXT, "answers": answers}


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        ((0, 3), [1, 0, 0]),
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


def original(tokens):
    return [{"token": token, "html_token": token.startswith("<")} for token in tokens]


def natural(form, chosen=(1, -1)):
    candidates = [{"start_token": a, "end_token": b, "top_level": True} for a, b in RANGES]
    annotations = [{"long_answer": {"candidate_index": i}} for i in chosen]
    record = {"example_id": 7, "question_text": "who wrote it"}
    if form == "simplified":
        record |= {"document_text": " ".join(PAGE)}
    elif form == "original":
        record |= {"document_tokens": original(PAGE)}
    else:
        tokens = {"token": PAGE, "is_html": [token.startswith("<") for token in PAGE]}
        record = {"id": "7", "question": {"text": "who wrote it"}, "document": {"tokens": tokens}}
        candidates = {"start_token": [a for a, _ in RANGES], "end_token": [b for _, b in RANGES]}
        annotations = {"long_answer": [{"candidate_index": i} for i in chosen]}
    return "here", record | {"long_answer_candidates": candidates, "annotations": annotations}


@pytest.mark.parametrize("form", ["simplified", "original", "hub"])
def test_paragraphs_come_in_the_pages_order_without_tables_and_markup(form):
    rows = list(natural_paragraphs([natural(form)]))
    assert rows == [("7", "who wrote it", "Ada wrote it .", 1), ("7", "who wrote it", "In 1843 .", 0)]


def test_what_any_annotator_chose_is_correct_and_a_chosen_table_marks_none():
    assert [row[3] for row in natural_paragraphs([natural("simplified", (1, 3))])] == [1, 1]
    assert [row[3] for row in natural_paragraphs([natural("simplified", (2,))])] == [0, 0]


def write_squad(folder, name, ids):
    questions = [{"id": i, "question": "Who?", "answers": [{"text": "Ada", "answer_start": 0}]} for i in ids]
    content = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": questions}]}]}
    (folder / name).write_text(json.dumps(content))


@pytest.fixture
def mapped(root):
    folder = root / "originals"
    folder.mkdir()
    local = {"local": {"rajpurkar/squad_v2": str(folder), "nq-la": str(folder)}}
    (root / "params" / "local.yaml").write_text(yaml.safe_dump(local))
    return folder


def test_squads_own_files_become_pairs_with_a_tenth_of_the_training_questions_as_dev(mapped):
    ids = [f"q{i}" for i in range(200)]
    write_squad(mapped, "train-v2.0.json", ids)
    write_squad(mapped, "dev-v2.0.json", ["t1", "t2"])
    train, dev, test = (set(load_pairs("squad-sent", split)["question_id"]) for split in ("train", "dev", "test"))
    assert train | dev == set(ids)
    assert not train & dev
    assert dev == {i for i in ids if is_dev(i)}
    assert 8 < len(dev) < 35
    assert test == {"t1", "t2"}
    assert load_pairs("squad-sent", "test")["label"] == [1, 0, 0] * 2


def test_parquet_files_as_on_the_hub_are_read_too(mapped):
    (mapped / "squad_v2").mkdir()
    records = [squad(0, 3)[1] | {"title": "Ada"}]
    parquet.write_table(pa.Table.from_pylist(records), mapped / "squad_v2" / "validation-00000-of-00001.parquet")
    assert load_pairs("squad-sent", "test")["label"] == [1, 0, 0]


def test_natural_questions_are_read_from_gzipped_lines(mapped):
    with gzip.open(mapped / "v1.0-simplified-nq-dev-all.jsonl.gz", "wt") as stream:
        stream.write(json.dumps(natural("simplified")[1]) + "\n")
    assert load_pairs("nq-la", "test")["answer"] == ["Ada wrote it .", "In 1843 ."]


def test_the_identity_follows_the_files_and_the_split(mapped):
    write_squad(mapped, "train-v2.0.json", ["a"])
    train, dev = identity("squad-sent", "train"), identity("squad-sent", "dev")
    assert train != dev
    write_squad(mapped, "train-v2.0.json", ["a", "b"])
    assert identity("squad-sent", "train") != train
    assert str(mapped) not in json.dumps(train)


def test_another_format_is_refused_with_the_record(mapped):
    (mapped / "dev.jsonl").write_text('{"example_id": 3}\n')
    with pytest.raises(
        ValueError, match=r"dev.jsonl, line 1: expected a record of Natural Questions, got none with 'question'"
    ):
        load_pairs("nq-la", "test")
