"""Pairs made of other sets: by hand-worked records, in each format that the originals have."""

import gzip
import json
import re

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from as2lib.data import load_pairs, load_unlabelled
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


def natural(form, chosen=(1, -1)):
    ranges = zip(RANGES, TOP_LEVEL, strict=True)
    candidates = [{"start_token": a, "end_token": b, "top_level": top} for (a, b), top in ranges]
    annotations = [{"long_answer": {"candidate_index": i}} for i in chosen]
    record = {"example_id": 7, "question_text": "who wrote it"}
    if form == "simplified":
        record |= {"document_text": " ".join(PAGE)}
    else:
        tokens = {"token": PAGE, "is_html": [token.startswith("<") for token in PAGE]}
        record = {"id": "7", "question": {"text": "who wrote it"}, "document": {"tokens": tokens}}
        candidates = {"start_token": [a for a, _ in RANGES], "end_token": [b for _, b in RANGES]}
        candidates["top_level"] = TOP_LEVEL
        annotations = {"long_answer": [{"candidate_index": i} for i in chosen]}
    return record | {"long_answer_candidates": candidates, "annotations": annotations}


@pytest.mark.parametrize("form", ["simplified", "hub"])
def test_paragraphs_come_in_the_pages_order_without_tables_what_is_nested_in_them_and_markup(form):
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
def mapped(tmp_path, write_local):
    folder = tmp_path / "originals"
    folder.mkdir()
    write_local(**{"rajpurkar/squad_v2": folder, "nq-la": folder})
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
    records = [squad(0, 3) | {"title": "Ada"}]
    parquet.write_table(pa.Table.from_pylist(records), mapped / "squad_v2" / "validation-00000-of-00001.parquet")
    assert load_pairs("squad-sent", "test")["label"] == [1, 0, 0]


def test_natural_questions_are_read_from_gzipped_lines(mapped):
    with gzip.open(mapped / "v1.0-simplified-nq-dev-all.jsonl.gz", "wt") as stream:
        stream.write(json.dumps(natural("simplified")) + "\n")
    assert load_pairs("nq-la", "test")["answer"] == ["Ada wrote it .", "In 1843 ."]


# ASNQ as its authors released it, with the lists that split the development set

TRAIN = [("who ?", 'a "b', 1), ("who ?", "c", 4), ("when ?", "d", 2), ("when ?", "e", 3), ("why ?", "f", 4)]
DEV = [("one ?", "a", 4), ("two ?", "b", 1), ("two ?", "c", 4), ("three ?", "d", 3), ("four ?", "e", 4)]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "asnq"
    folder.mkdir()
    for name, rows in (("train", TRAIN), ("dev", DEV)):
        (folder / f"{name}.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    (folder / "unique.dev").write_text("two ?\nfour ?\n")
    (folder / "unique.test").write_text("one ?\nthree ?\n")
    return folder


def rows(pairs):
    return [(row["question"], row["answer"], row["label"]) for row in pairs]


def test_only_label_4_is_correct_and_every_sentence_is_kept(folder):
    assert rows(load_pairs(folder, "train", "all")) == [(*row[:2], int(row[2] == 4)) for row in TRAIN]
    assert rows(load_pairs(folder, "train")) == [("who ?", 'a "b', 0), ("who ?", "c", 1), ("why ?", "f", 1)]
    assert rows(load_pairs(folder, "train", "mixed")) == [("who ?", 'a "b', 0), ("who ?", "c", 1)]


def test_lists_split_dev_into_dev_and_test_with_ids_of_runs_of_equal_questions(folder):
    assert rows(load_pairs(folder, "dev", "all")) == [("two ?", "b", 0), ("two ?", "c", 1), ("four ?", "e", 1)]
    assert rows(load_pairs(folder, "test", "all")) == [("one ?", "a", 1), ("three ?", "d", 0)]
    assert rows(load_pairs(folder, "test")) == [("one ?", "a", 1)]
    dev, test = (load_pairs(folder, split, "all")["question_id"][:] for split in ("dev", "test"))
    assert [name.partition("-")[2] for name in dev] == ["2", "2", "4"]
    assert [name.partition("-")[2] for name in test] == ["1", "3"]
    assert load_unlabelled(folder, "test")["question_id"][:] == test


def test_identity_tells_dev_from_test_and_sees_the_lists(folder):
    dev, test = identity(folder, "dev"), identity(folder, "test")
    assert dev != test
    assert len(dev["files"]) == 3
    (folder / "unique.dev").write_text("two ?\n")
    assert identity(folder, "dev") != dev
    assert identity(folder, "train")["files"] == identity(folder / "train.tsv")["files"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("dev.tsv", "one ?\ta\t4\ntwo ?\t4\n", "dev.tsv, line 2: expected 3 fields"),
        ("dev.tsv", "one ?\ta\t4\nsix ?\tb\t4\n", "dev.tsv, line 2: question 'six ?' is in neither unique.dev"),
    ],
)
def test_wrong_file_is_refused_in_one_line_with_its_number(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}[^\n]*$"):
        load_pairs(folder, "test")
    assert not list((folder.parent / "root" / "work" / "pairs").glob("*"))
