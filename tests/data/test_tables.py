"""Every way in which people bring a table of pairs, and every rule that it keeps."""

import csv
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, Value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from as2lib.data import load_pairs
from as2lib.data.columns import NoLabels
from tests.data.conftest import COLUMNS, ROWS, dicts, rows_of, write

FORMATS = ("tsv", "csv", "jsonl", "parquet")
MEMORY = {"dicts": dicts, "pandas": lambda rows: pd.DataFrame(dicts(rows))}
DICTS = dicts(ROWS)
FRAME = pd.DataFrame(DICTS)


in_every_way = pytest.mark.parametrize("kind", [*FORMATS, *MEMORY])


@pytest.fixture
def bring(tmp_path):
    """Rows as a file or in memory, and what messages call them."""

    def bring(kind, rows):
        if kind in MEMORY:
            return MEMORY[kind](rows), "pairs"
        return write(tmp_path / f"my.{kind}", rows), f"my.{kind}"

    return bring


def refusal(source, load=load_pairs):
    """The one line that a source is refused with."""
    with pytest.raises(ValueError) as raised:
        load(source)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("names", ["qid,query,sentence,label", "Question ID,Question,candidate,Label"])
def test_columns_are_recognised_by_the_names_that_people_use(tmp_path, names, capfd):
    path = write(tmp_path / "my.tsv", [(*row, "x") for row in ROWS], (*names.split(","), "note"))
    assert rows_of(load_pairs(path, questions="all")) == ROWS
    load_pairs(path)
    assert capfd.readouterr().err == "as2: my.tsv: columns that are not read: note\n"


def test_where_two_columns_could_be_one_both_are_named(tmp_path):
    for names in (("question", "answer", "sentence", "label"), ("question", "answer", "label", "Label")):
        for source in (dicts([["1"] * 4], names), write(tmp_path / "my.tsv", [["1"] * 4], names)):
            assert f"got {', '.join(names[1:3] if 'sentence' in names else names[2:])}" in refusal(source)


@pytest.mark.parametrize("kind", FORMATS)
def test_files_are_read_as_written_na_and_null_are_texts_and_labels_not_asked_for_may_lack(tmp_path, kind):
    assert rows_of(load_pairs(write(tmp_path / f"all.{kind}", ROWS), questions="all")) == ROWS
    path = write(tmp_path / f"my.{kind}", [row[:3] for row in ROWS], COLUMNS[:3])
    assert rows_of(load_pairs(path, questions=None).add_column("label", [1, 0, 1, 0])) == ROWS
    with pytest.raises(NoLabels):
        load_pairs(path)


@pytest.mark.parametrize("labels", [(1.0, 0.0), ("True", "FALSE"), (True, False)])
@in_every_way
def test_labels_may_be_written_as_numbers_or_truths(bring, kind, labels):
    rows = [(*row[:3], label) for row, label in zip(ROWS, labels, strict=False)]
    assert load_pairs(bring(kind, rows)[0])["label"][:] == [1, 0]


@pytest.mark.parametrize(("classes", "is_read"), [(["false", "true"], True), (["yes", "no"], False)])
def test_classes_are_read_by_their_names(tmp_path, classes, is_read):
    features = Features({name: Value("string") for name in COLUMNS[:3]} | {"label": ClassLabel(names=classes)})
    rows = [{**row, "label": label} for row, label in zip(DICTS, (0, 1), strict=False)]
    dataset = Dataset.from_list(rows, features=features)
    dataset.to_parquet(tmp_path / "my.parquet")
    for source in (dataset, dataset.with_format("pandas"), tmp_path / "my.parquet"):
        if is_read:
            assert load_pairs(source)["label"][:] == [0, 1]
        else:
            assert "label" in refusal(source)


@pytest.mark.parametrize("value", ["\u00a0", None])
@in_every_way
def test_an_empty_answer_is_kept_and_said_once_and_a_blank_question_or_id_refused(bring, kind, value, capfd):
    source, name = bring(kind, [ROWS[0], (*ROWS[1][:2], value, 0), ("q2", "When?", value, 1)])
    for questions in ("answered", None, "answered"):
        assert load_pairs(source, questions=questions)["answer"][:] == ["Ann did", value or "", value or ""]
    assert capfd.readouterr().err == f"as2: {name}: 2 answers are empty: they are kept, and scored as empty texts\n"
    for column in COLUMNS[:2]:
        row = [value if name == column else old for name, old in zip(COLUMNS, ROWS[1], strict=True)]
        source, name = bring(kind, [ROWS[0], row])
        assert refusal(source).startswith(f"{name}, row 2: {column}: expected text, got ")


@pytest.mark.parametrize("kind", ["tsv", "dicts"])
def test_rows_of_a_question_that_lie_apart_are_brought_together_and_one_id_has_one_question(bring, kind, capfd):
    source, _ = bring(kind, [ROWS[2], ROWS[0], ROWS[3], ROWS[1]])
    assert rows_of(load_pairs(source, questions="all")) == [ROWS[2], ROWS[0], ROWS[1], ROWS[3]]
    assert "brought together" in capfd.readouterr().err
    source, _ = bring(kind, [ROWS[0], ROWS[2], ("q1", "Who else?", "Bob", 0)])
    assert "row 3: question_id: expected one question an id" in refusal(source)
    twice = [{**row, "candidate_id": "d"} for row in DICTS]
    assert refusal(twice).startswith("pairs, row 2: candidate_id: expected each once in a question, got 'd'; ")


@pytest.mark.parametrize("label", ["2", ""])
@in_every_way
def test_another_label_is_refused_at_its_row(bring, kind, label):
    labels = ["1"] * 7 + [label, "1"]
    source, name = bring(kind, [(*ROWS[0][:3], value) for value in labels])
    assert refusal(source).startswith(f"{name}, row 8: label: expected 0 or 1")


def test_ids_that_are_missing_are_one_an_equal_question_the_same_in_every_order():
    texts = [{"question": q, "answer": a, "label": 1} for q, a in [("Who?", "a"), ("q1", "b"), ("Who?", "c")]]
    pairs, turned = load_pairs(texts), load_pairs(texts[::-1])
    assert pairs["answer"][:] == ["a", "c", "b"]
    assert len(set(pairs["question_id"])) == 2
    assert set(pairs["question_id"]) == set(turned["question_id"])
    assert "q1" not in set(pairs["question_id"])


def test_numbers_are_texts_and_other_values_are_refused_at_their_row():
    numbers = [{"qid": 7, "question": "How many?", "answer": 42, "label": 1}]
    assert rows_of(load_pairs(numbers)) == [("7", "How many?", "42", 1)]
    assert load_pairs([{**numbers[0], "qid": 10**25}])["question_id"][0] == str(10**25)  # past 64 bits
    frame = pd.DataFrame(numbers * 2)
    for table in (frame, frame.astype({"qid": float}), frame.set_index("qid")):
        assert rows_of(load_pairs(table))[1] == ("7", "How many?", "42", 1)
    assert refusal([DICTS[0], {**DICTS[1], "answer": ["a"]}]) == "pairs, row 2: answer: expected text, got ['a']"
    assert "expected text" in refusal([{"question": "Who?", "answer": "half a character \ud83d", "label": 1}])


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_bytes_that_are_not_utf8_are_refused_and_a_byte_order_mark_is_passed_over(tmp_path, kind):
    path = write(tmp_path / f"my.{kind}", ROWS)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert rows_of(load_pairs(path, questions="all")) == ROWS
    for encoding in ("utf-16", "latin-1"):
        text = "question,answer,label\nWho?,J\u00fcrgen,1\n".replace(",", "\t" if kind == "tsv" else ",")
        path.write_text(text, encoding)
        assert encoding in refusal(path).lower()
    if kind == "jsonl":
        for line in ("{", "[1]"):
            path.write_text(json.dumps(DICTS[0]) + "\n" + line + "\n")
            assert refusal(path).startswith("my.jsonl, row 2: expected a")


def test_in_a_tsv_a_quote_is_text_wherever_it_stands(tmp_path):
    answers = ['"never closed', '"closed" too early', '5" of "snow"', '"all of it"', 'ends"', '"', '""']
    path = tmp_path / "my.tsv"
    path.write_text("\n".join(["\t".join(COLUMNS), *(f"q1\tWho?\t{answer}\t1" for answer in answers)]))
    assert load_pairs(path)["answer"][:] == answers


@pytest.mark.parametrize(
    ("name", "rows", "problem"),
    [
        ("my.tsv", "Who?\tAnn\t1\nWho?\tBob\t0\tx", "my.tsv: .*Expected 3 fields in line 3, saw 4"),
        ("my.csv", "Who?,Ann", "my.csv, row 1: label: expected 0 or 1"),
        ("my.csv", 'Who?,"Ann,1', "my.csv: Error tokenizing"),
        ("my.csv", "Who?\tAnn\t1", "my.csv: expected commas or semicolons, got tabs"),
    ],
)
def test_a_file_whose_rows_do_not_fit_is_refused(tmp_path, name, rows, problem):
    separator = "\t" if "\t" in rows else ","
    (tmp_path / name).write_text(separator.join(("question", "answer", "label")) + f"\n{rows}\n")
    assert re.match(problem, refusal(tmp_path / name))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.text(st.sampled_from("a\" \t\n,;'ü"), min_size=1).filter(str.strip), min_size=1, max_size=4))
@pytest.mark.parametrize(
    "options",
    [
        {"sep": "\t"},  # with the row numbers that pandas writes unless told not to
        {"sep": "\t", "index": False, "quoting": csv.QUOTE_ALL},
        {"sep": ";", "index": False},
    ],
)
def test_what_pandas_writes_is_what_is_read(tmp_path, options, answers):
    frame = pd.DataFrame({"question_id": "q1", "question": "Who?", "answer": answers, "label": 1})
    path = tmp_path / ("my.tsv" if options["sep"] == "\t" else "my.csv")
    frame.to_csv(path, **options)
    try:
        assert load_pairs(path)["answer"][:] == answers
    except ValueError:
        assert options["sep"] == "\t"
        assert any("\t" in text or "\n" in text for text in answers)


@pytest.mark.parametrize(
    "columns",
    [
        {"answer": "gold", "candidates": [{"text": "a", "label": 0}, {"text": "b", "label": 1}]},
        {"answer": "gold", "passages": {"passage_text": ["a"], "is_selected": [0]}},
        {"positive": "a", "negative": "b"},
        {"pos": ["a"], "neg": "b"},
    ],
)
def test_a_row_that_holds_a_question_with_its_candidates_is_refused_by_their_names(tmp_path, columns):
    rows = [{"query": "Who?", **columns}]
    (tmp_path / "my.jsonl").write_text(json.dumps(rows[0]))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "my.parquet")
    names = ", ".join(name for name in columns if name != "answer")
    for source in (rows, pd.read_parquet(tmp_path / "my.parquet"), tmp_path / "my.jsonl", tmp_path / "my.parquet"):
        line = refusal(source, lambda source: load_pairs(source, questions=None))
        assert f": {names}: expected a row for each candidate" in line
    assert len(load_pairs([{"query": "Who?", "answer": "gold", **columns, "label": 1}])) == 1


def test_pandas_makes_pairs_of_such_rows_as_the_docs_say():
    text = (Path(__file__).parents[2] / "docs" / "own_data.md").read_text(encoding="utf-8")
    tables: dict = {}
    exec(text.partition("```python\n")[2].partition("```")[0], tables)
    for name, answers in (("dicts", {"Ann", "Rain"}), ("beside", {"Ann", "Rain"}), ("sides", {"Ann", "Rain", "Why"})):
        pairs = load_pairs(tables[name])
        assert dict(zip(pairs["answer"], pairs["label"], strict=True)) == {text: int(text == "Ann") for text in answers}
        assert len(pairs) == len(answers)


def test_pairs_that_have_both_labels_are_counted(capfd):
    load_pairs([{**DICTS[0], "label": label, "question_id": name} for label, name in ((1, "a"), (0, "a"), (0, "b"))])
    assert "1 pairs have both labels" in capfd.readouterr().err


def test_a_table_in_memory_and_its_index_are_read_as_written_and_it_has_no_splits(tmp_path):
    categories = FRAME.astype({"question_id": "category", "label": float})
    FRAME.set_index("question_id").to_parquet(tmp_path / "my.parquet")
    assert rows_of(load_pairs(tmp_path / "my.parquet", questions="all")) == ROWS
    for source in (FRAME, categories, Dataset.from_list(DICTS)):
        assert rows_of(load_pairs(source, questions="all")) == ROWS
        assert "no splits" in refusal(source, lambda table: load_pairs(table, "dev"))
    assert "expected a list of dicts" in refusal({"train": DICTS})
