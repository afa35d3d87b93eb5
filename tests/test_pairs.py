"""Every rule of the pair table, in every format, and what the real sets hold."""

import csv
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from datasets import Dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from as2lib.data import disk, formats, load_pairs, load_unlabelled
from as2lib.data import pairs as module
from as2lib.data.pairs import (
    COLUMNS,
    FEATURES,
    at_hand,
    concatenate,
    filter_questions,
    fingerprint,
    from_rows,
    leave_out,
)

FORMATS = ("tsv", "csv", "jsonl", "parquet")
ROWS = [
    ("q1", "Who?", "Ann did", 1),
    ("q1", "Who?", 'He said "no", twice', 0),
    ("q2", "When?", "In spring", 1),
    ("q3", "Why?", "\u00fc \U0001f600", 0),
]
DICTS = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
OFFICIAL = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\r\n"


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    root = tmp_path / "root"
    (root / "params").mkdir(parents=True)
    monkeypatch.setenv("AS2_ROOT", str(root))
    return root


def write(path, rows, names=COLUMNS):
    """Writes rows in the format that the path ends in."""
    if path.suffix == ".parquet":
        parquet.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)}), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([names, *rows])
    return path


def as_rows(pairs):
    return [tuple(row.values()) for row in pairs]


def refusal(path, load=load_pairs):
    """The one line that loading a file is refused with."""
    with pytest.raises(ValueError) as raised:  # noqa: PT011  the message is what the caller looks at
        load(path)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def named(path, row):
    """What a row, counted from 1, is called: by its line, too, where the file has lines."""
    line = {".parquet": "", ".jsonl": f" (line {row})"}.get(path.suffix, f" (line {row + 1})")
    return f"{path.name}, row {row}{line}: "


@pytest.mark.parametrize("kind", FORMATS)
def test_file_is_read_as_written_and_has_the_fingerprint_of_its_rows(tmp_path, kind):
    pairs = load_pairs(write(tmp_path / f"my.{kind}", ROWS), questions="all")
    assert pairs.features == FEATURES
    assert as_rows(pairs) == ROWS
    assert fingerprint(pairs) == fingerprint(from_rows(DICTS))


@pytest.mark.parametrize(
    ("policy", "kept"),
    [({}, ["q1", "q2"]), ({"questions": "mixed"}, ["q1"]), ({"questions": "all"}, ["q1", "q2", "q3"])],
)
def test_policy_keeps_whole_questions_in_order(tmp_path, policy, kept):
    path = write(tmp_path / "my.tsv", ROWS)
    assert as_rows(load_pairs(path, **policy)) == [row for row in ROWS if row[0] in kept]


def test_a_part_may_ask_for_questions_with_many_candidates(tmp_path):
    write(tmp_path / "dev.tsv", [[f"q{n}", "who?", f"a{i}", int(i == 0)] for n in (1, 2, 3) for i in range(n)], COLUMNS)
    assert load_pairs(tmp_path, "dev>=2")["question_id"][:] == ["q2"] * 2 + ["q3"] * 3
    assert load_unlabelled(tmp_path, "dev>=3")["question_id"][:] == ["q3"] * 3
    with pytest.raises(ValueError, match="no question of dev>=4 is left"):
        load_pairs(tmp_path, "dev>=4")


def test_a_part_may_ask_for_questions_without_a_correct_candidate(tmp_path):
    path = write(tmp_path / "train.tsv", ROWS)
    unanswered = load_unlabelled(tmp_path, "train=unanswered")
    assert unanswered.column_names == ["question_id", "question", "answer"]
    assert as_rows(unanswered) == [row[:3] for row in ROWS if row[0] == "q3"]
    assert as_rows(load_pairs(tmp_path, "train=unanswered", "all")) == [row for row in ROWS if row[0] == "q3"]
    with pytest.raises(ValueError, match='no question of train=unanswered is left under questions="answered"'):
        load_pairs(tmp_path, "train=unanswered")
    write(path, [row[:3] for row in ROWS], COLUMNS[:3])
    with pytest.raises(ValueError, match="missing label"):
        load_unlabelled(tmp_path, "train=unanswered")


def test_unknown_policy_and_one_that_leaves_no_question_are_refused(tmp_path):
    with pytest.raises(ValueError, match="questions must be one of answered, mixed, all, got 'clean'"):
        load_pairs(tmp_path / "none.tsv", questions="clean")
    with pytest.raises(ValueError, match="questions must be one of"):
        filter_questions(from_rows(DICTS), "clean")
    path = write(tmp_path / "my.tsv", ROWS[3:])
    assert refusal(path) == 'my.tsv: no question is left under questions="answered"; "all" keeps every one'


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("label", "shown"), [("2", "'2'"), ("yes", "'yes'"), ("", "nothing"), ("0.5", "'0.5'")])
def test_label_other_than_0_or_1_is_refused(tmp_path, kind, label, shown):
    path = write(tmp_path / f"my.{kind}", [(*ROWS[0][:3], "1"), (*ROWS[1][:3], label)])
    assert refusal(path) == f"{named(path, 2)}label must be 0 or 1, got {shown}"


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("label", [2, 0.5, None, -1])
def test_numeric_label_other_than_0_or_1_is_refused(tmp_path, kind, label):
    path = write(tmp_path / f"my.{kind}", [ROWS[0], (*ROWS[1][:3], label)])
    assert refusal(path).startswith(f"{named(path, 2)}label must be 0 or 1, got ")


@pytest.mark.parametrize("labels", [(1, 0), (1.0, 0.0), ("1", "0"), ("1.0", "0.0")])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_label_equal_to_0_or_1_is_accepted(tmp_path, kind, labels):
    rows = [(*row[:3], label) for row, label in zip(ROWS, labels, strict=False)]
    assert load_pairs(write(tmp_path / f"my.{kind}", rows))["label"][:] == [1, 0]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("column", COLUMNS[:3])
@pytest.mark.parametrize("value", ["", "  ", "\u00a0", None])
def test_empty_text_is_refused(tmp_path, kind, column, value):
    row = [value if name == column else old for name, old in zip(COLUMNS, ROWS[1], strict=True)]
    path = write(tmp_path / f"my.{kind}", [ROWS[0], row])
    shown = "" if value is None else value
    assert refusal(path) == f"{named(path, 2)}{column} must not be empty, got {shown!r}"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("column", COLUMNS)
def test_missing_column_is_refused(tmp_path, kind, column):
    kept = [i for i, name in enumerate(COLUMNS) if name != column]
    names = [COLUMNS[i] for i in kept]
    path = write(tmp_path / f"my.{kind}", [[row[i] for i in kept] for row in ROWS], names)
    assert f"(missing {column})" in refusal(path)
    assert refusal(path).startswith(f"my.{kind}")


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_may_come_in_another_order_but_no_others(tmp_path, kind):
    path = write(tmp_path / f"my.{kind}", [row[::-1] for row in ROWS], COLUMNS[::-1])
    assert as_rows(load_pairs(path, questions="all")) == ROWS
    path = write(tmp_path / f"more.{kind}", [(*row, "x") for row in ROWS], (*COLUMNS, "note"))
    assert "(extra note)" in refusal(path)


def test_a_column_twice_a_row_longer_than_a_block_and_a_file_that_is_no_parquet_are_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "my.tsv", [(*row, 1) for row in ROWS], (*COLUMNS, "label"))
    assert "expected each column once" in refusal(path)
    (tmp_path / "my.parquet").write_text("no")
    assert refusal(tmp_path / "my.parquet").startswith("my.parquet: expected a Parquet file, got ")
    monkeypatch.setattr(formats, "_BLOCK", 64)
    path = write(tmp_path / "my.tsv", [*ROWS, ("q4", "Who?", "a" * 200, 1)])
    assert refusal(path).startswith("my.tsv: expected rows of at most 64 bytes, got ")


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_of_a_question_that_are_apart_are_refused(tmp_path, kind):
    path = write(tmp_path / f"my.{kind}", [*ROWS, ROWS[2]])
    message = refusal(path)
    assert message.startswith(f"{named(path, 5)}the rows of a question must be contiguous, got question_id 'q2' again")
    assert f"first at {named(path, 3)[:-2]};" in message


@pytest.mark.parametrize("kind", FORMATS)
def test_file_without_rows_is_refused(tmp_path, kind):
    (tmp_path / f"zero.{kind}").touch()
    assert refusal(tmp_path / f"zero.{kind}") == f"zero.{kind}: expected at least one row, got an empty file"
    if kind != "parquet":
        (tmp_path / f"none.{kind}").write_text("\n" if kind == "jsonl" else "\t,"[kind == "csv"].join(COLUMNS))
    else:
        write(tmp_path / "none.parquet", [])
    assert refusal(tmp_path / f"none.{kind}") == f"none.{kind}: expected at least one row, got none"


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_bytes_that_are_not_utf8_are_refused(tmp_path, kind):
    path = write(tmp_path / f"my.{kind}", ROWS)
    path.write_bytes(path.read_bytes().replace(b"In spring", b"In spr\xffng"))
    assert refusal(path) == f"{named(path, 3)}expected UTF-8 text, got the byte 0xff; save the file as UTF-8"


def test_parquet_text_that_is_not_utf8_is_refused(tmp_path):
    path = write(tmp_path / "my.parquet", ROWS)
    table = parquet.read_table(path)
    content = pa.array([b"ok", b"ok", b"\xff", b"ok"])
    table = table.set_column(2, "answer", pa.Array.from_buffers(pa.string(), 4, content.buffers()))
    parquet.write_table(table, path)
    assert refusal(path) == "my.parquet, row 3: answer must be UTF-8 text, got other bytes"


@pytest.mark.parametrize("kind", ["tsv", "csv"])
@pytest.mark.parametrize("fields", [3, 5])
def test_ragged_row_is_refused(tmp_path, kind, fields):
    path = write(tmp_path / f"my.{kind}", [ROWS[0], [*ROWS[1], "x"][:fields], ROWS[2]])
    message = f"expected 4 fields (question_id, question, answer, label), got {fields}"
    assert refusal(path) == f"{named(path, 2)}{message}"


def test_row_and_line_differ_after_blank_lines_and_line_breaks(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text('question_id,question,answer,label\n\nq1,Who?,"two\nlines",1\nq2,Who?,x,7\n')
    assert refusal(path) == "my.csv, row 2 (line 5): label must be 0 or 1, got '7'"
    lines = tmp_path / "my.jsonl"
    lines.write_text("\n" + json.dumps(DICTS[0]) + "\n\n{}\n")
    assert refusal(lines).startswith("my.jsonl, row 2 (line 4): expected the columns of the first row")


@pytest.mark.parametrize("answer", ['"never closed', '"closed" too early'])
def test_wrong_quoting_is_refused_rather_than_swallowing_rows(tmp_path, answer):
    path = tmp_path / "my.tsv"
    path.write_text("\t".join(COLUMNS) + f"\nq1\tWho?\tx\t1\nq1\tWho?\t{answer}\t0\nq1\tWho?\ty\t0\n")
    assert refusal(path).startswith("my.tsv, row 2 (line 3): expected fields quoted as in RFC 4180 (one that begins ")


@pytest.mark.parametrize("kind", ["tsv", "csv"])
def test_quotes_that_close_no_field_are_text(tmp_path, kind):
    broken = ['a,"b",\t"c"\n"d', "a\r\nb"] if kind == "csv" else []
    rows = [("q1", "Who?", answer, 1) for answer in ('"', '""', '"x",', ',"', *broken)]
    path = write(tmp_path / f"my.{kind}", rows)
    with path.open("a") as stream:
        stream.write('q1,Who?,5" of "snow",1\n'.replace(",", "\t" if kind == "tsv" else ","))
    assert as_rows(load_pairs(path)) == [*rows, ("q1", "Who?", '5" of "snow"', 1)]


@pytest.mark.parametrize(
    "lines",
    [
        ['q1\tWhat?\t"I came, I saw.\t0', 'q1\tWhat?\tI conquered."\t1'],  # one pair, were the quotes believed
        ['q1\tWhat?\t"I came,', 'I saw."\t0'],
        ['q1\t"What\tnow?"\tx\t1'],
        ['"q1\tWhat?\tx\t1', 'q2\tWhat?"\tx\t1'],
        ['q1\tWhat?\t"two\rparts"\t1'],
    ],
)
def test_a_quote_that_would_swallow_a_tab_or_a_line_break_of_a_tsv_is_refused_with_two_ways_out(tmp_path, lines):
    path = tmp_path / "my.tsv"
    path.write_text("\n".join(["\t".join(COLUMNS), "q0\tWho?\tAnn\t1", *lines, ""]), newline="")
    message = refusal(path)
    assert message.startswith("my.tsv, row 2 (line 3): expected no tab and no line break in a field of a TSV, got ")
    assert message.endswith("name the columns QuestionID, Question, Sentence, Label; or save the file as CSV")


def test_both_ways_out_of_a_quote_that_swallows_rows_give_every_row(tmp_path):
    rows = [("q1", "What?", '"I came, I saw.', 0), ("q1", "What?", '…I conquered."', 1)]
    unquoted = tmp_path / "my.tsv"
    lines = ["\t".join(formats.OFFICIAL), *("\t".join(map(str, row)) for row in rows)]
    unquoted.write_text("\n".join(lines), encoding="utf-8")
    assert as_rows(load_pairs(unquoted)) == as_rows(load_pairs(write(tmp_path / "my.csv", rows))) == rows
    texts = tmp_path / "texts.tsv"
    texts.write_text("Sentence\tQuestion\n" + '"a\tb"\nc"\td\n', encoding="utf-8")
    assert load_unlabelled(texts)["answer"][:] == ['"a', 'c"']


@pytest.mark.parametrize("kind", FORMATS)
def test_a_question_id_with_two_question_texts_is_refused(tmp_path, kind, monkeypatch):
    rows = [ROWS[0], ("q1", "Who else?", "Bob", 0), *ROWS[2:]]
    path = write(tmp_path / f"my.{kind}", rows)
    expected = f"{named(path, 2)}expected one question text a question_id, got another one for 'q1': 'Who else?'"
    assert refusal(path).startswith(expected)
    monkeypatch.setattr(formats, "_BATCH", 1)  # also where the second text is in another table
    assert refusal(path, lambda path: load_unlabelled(path)).startswith(expected)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected a JSON object, got Expecting property name"),
        ("[1]", "expected an object with the columns question_id, question, answer, label, got [1]"),
        ('{"question_id": "q1", "question": "a", "answer": "b"}', "expected the columns of the first row"),
        ('{"question_id": "q1", "question": 3, "answer": "b", "label": 1}', "question must be text, got 3"),
        ('{"question_id": [], "question": "a", "answer": "b", "label": 1}', "question_id must be text, got []"),
    ],
)
def test_malformed_json_line_is_refused(tmp_path, line, message):
    path = write(tmp_path / "my.jsonl", ROWS[:1])
    path.write_text(path.read_text() + line + "\n")
    assert refusal(path).startswith(f"my.jsonl, row 2 (line 2): {message}")


@pytest.mark.parametrize("kind", FORMATS)
def test_numbers_are_accepted_as_ids(tmp_path, kind):
    path = write(tmp_path / f"my.{kind}", [(7, *ROWS[0][1:]), (8, *ROWS[2][1:])])
    assert load_pairs(path)["question_id"][:] == ["7", "8"]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_byte_order_mark_is_passed_over(tmp_path, kind):
    path = write(tmp_path / f"my.{kind}", ROWS)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert as_rows(load_pairs(path, questions="all")) == ROWS


def test_official_wikiqa_files_are_read_without_quoting(tmp_path):
    rows = ['Q1\twho?\tD1\t"Ann\tD1-0\t"Ann began.\t1', 'Q2\t"x" what?\tD2\tT\tD2-0\tIt is "so" \t1']
    path = tmp_path / "WikiQA-dev.tsv"
    path.write_bytes((OFFICIAL + "\r\n".join(rows) + "\r\n").encode())
    expected = [("Q1", "who?", '"Ann began.', 1), ("Q2", '"x" what?', 'It is "so" ', 1)]
    assert as_rows(load_pairs(tmp_path, "dev", "all")) == expected
    path.write_bytes((OFFICIAL + "\r\n".join([*rows, "Q3\tx"])).encode())
    with pytest.raises(ValueError, match=r"^WikiQA-dev\.tsv, row 3 \(line 4\): expected 7 fields .*, got 2$"):
        load_pairs(tmp_path, "dev")


def columns_of(rows):
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.usefixtures("any_content")
@pytest.mark.parametrize(
    ("name", "mapped", "split", "called", "ids"),
    [
        ("wikiqa", "microsoft/wiki_qa", "validation", ["question_id", "document_title"], "q1 q1 q2 q3 q4"),
        ("lucadiliello/trecqa", "trecqa", "dev_clean", ["key"], "q1 q1 q2 q3 q4"),
        ("selqa", "selqa", "validation", [], "1 1 2 3 4"),  # from runs of equal questions
    ],
)
def test_hub_snapshots_are_read_from_a_mapped_folder(tmp_path, root, name, mapped, split, called, ids):
    rows = [*ROWS, ("q4", *ROWS[0][1:])]
    given, questions, answers, labels = columns_of(rows).values()
    answer = "answer" if called else "candidate"
    table = pa.table({**dict.fromkeys(called, given), "question": questions, answer: answers, "label": labels})
    (tmp_path / "data").mkdir()
    for number, part in enumerate((table.slice(0, 2), table.slice(2))):
        parquet.write_table(part, tmp_path / "data" / f"{split}-0000{number}-of-00002.parquet")
    (root / "params" / "local.yaml").write_text(f"local:\n  {mapped}: {tmp_path}\n")
    pairs = load_pairs(name, "dev", "all")
    assert [row[1:] for row in as_rows(pairs)] == [row[1:] for row in rows]
    assert " ".join(found.rpartition("-")[2] for found in pairs["question_id"]) == ids
    assert load_unlabelled(name, "dev")["question_id"][:] == pairs["question_id"][:]


@pytest.mark.parametrize("kind", FORMATS)
def test_large_set_is_kept_on_disk_and_is_the_same(tmp_path, root, monkeypatch, kind):
    path = write(tmp_path / f"my.{kind}", ROWS)
    in_memory = {policy: load_pairs(path, questions=policy) for policy in ("answered", "mixed", "all")}
    monkeypatch.setattr(disk, "LARGE", 0)
    for _ in range(2):  # written, then read
        for policy, expected in in_memory.items():
            pairs = load_pairs(path, questions=policy)
            assert as_rows(pairs) == as_rows(expected)
            assert fingerprint(pairs) == fingerprint(expected)
            assert concatenate([pairs]).cache_files  # it stays mapped
    assert load_unlabelled(path)["answer"][:] == [row[2] for row in ROWS]
    assert [entry.suffix for entry in (root / "work" / "pairs").iterdir()] == [".arrow"] * 4  # a raw file is gone
    changed = write(tmp_path / f"my.{kind}", [*ROWS[:3], ("q3", "Why?", "so", 1)])
    assert as_rows(load_pairs(changed))[-1] == ("q3", "Why?", "so", 1)


@pytest.mark.parametrize("large", [disk.LARGE, 0])
def test_violation_in_a_second_shard_names_that_shard_and_leaves_no_file(tmp_path, root, monkeypatch, large):
    monkeypatch.setattr(disk, "LARGE", large)
    for number, rows in enumerate([ROWS[:2], [ROWS[2], (*ROWS[3][:3], 9)]]):
        write(tmp_path / f"train-0000{number}-of-00002.jsonl", rows)
    with pytest.raises(
        ValueError, match=r"^train-00001-of-00002\.jsonl, row 2 \(line 2\): label must be 0 or 1, got '9'"
    ):
        load_pairs(tmp_path, "train")
    assert list(root.glob("work/pairs/*")) == []


@pytest.mark.parametrize("large", [disk.LARGE, 0])
def test_shards_may_store_labels_as_other_types(tmp_path, monkeypatch, large):
    monkeypatch.setattr(disk, "LARGE", large)
    write(tmp_path / "train-00000-of-00002.parquet", ROWS[:2])
    write(tmp_path / "train-00001-of-00002.parquet", [(*row[:3], f"{row[3]}.0") for row in ROWS[2:]])
    assert as_rows(load_pairs(tmp_path, "train", "all")) == ROWS


def test_question_may_go_on_in_the_next_shard(tmp_path):
    for number, rows in enumerate([ROWS[:1], ROWS[1:]]):
        write(tmp_path / f"train-0000{number}-of-00002.csv", rows)
    assert as_rows(load_pairs(tmp_path, "train", "all")) == ROWS


def test_a_hub_set_is_asked_for_by_config_revision_and_split_and_out_of_reach_says_how_to_map_a_folder(monkeypatch):
    asked = []

    def load_dataset(*names, **options):
        asked.append((*names, options))
        return Dataset.from_dict({"question": ["a", "a", "b"], "candidate": ["x", "y", "z"], "label": [1, 0, 1]})

    monkeypatch.setattr(module.datasets, "load_dataset", load_dataset)
    assert load_pairs("selqa@abc", "dev")["question_id"][:] == ["validation-1", "validation-1", "validation-2"]
    expected = {"revision": "abc", "split": "validation"}
    assert asked == [("community-datasets/selqa", "answer_selection_experiments", expected)]

    def load_dataset(*_, **__):
        raise ConnectionError("Couldn't reach the Hub\nand a second line")

    monkeypatch.setattr(module.datasets, "load_dataset", load_dataset)
    with pytest.raises(FileNotFoundError) as raised:
        load_pairs("wikiqa", "dev")
    assert 'add "microsoft/wiki_qa: that/folder" under "local:" in params/local.yaml' in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", FORMATS)
def test_unlabelled_drops_labels_keeps_every_question_and_makes_ids_of_its_own(tmp_path, kind):
    pairs = load_unlabelled(write(tmp_path / f"my.{kind}", [(*row[:3], 5) for row in ROWS]))
    assert as_rows(pairs) == [row[:3] for row in ROWS]
    assert pairs.column_names == list(COLUMNS[:3])
    path, other = (
        write(tmp_path / f"{name}.{kind}", [row[1:3] for row in rows], COLUMNS[1:3])
        for name, rows in (("my", ROWS), ("other", ROWS[:1]))
    )
    assert [name[-2:] for name in load_unlabelled(path)["question_id"]] == ["-1", "-1", "-2", "-3"]
    assert len(concatenate([load_unlabelled(path), load_unlabelled(other)])) == 5


def test_unlabelled_refuses_the_rest(tmp_path):
    rows = [row[:3] for row in ROWS]
    path = write(tmp_path / "my.tsv", [*rows, rows[0]], COLUMNS[:3])
    assert "must be contiguous" in refusal(path, load_unlabelled)
    extra = write(tmp_path / "extra.tsv", [(*row, 1) for row in rows], (*COLUMNS[:3], "note"))
    assert "(extra note)" in refusal(extra, load_unlabelled)
    with pytest.raises(ValueError, match="a policy needs labels"):
        filter_questions(load_unlabelled(write(tmp_path / "good.tsv", rows, COLUMNS[:3])), "answered")


@pytest.mark.parametrize("table", [list, pd.DataFrame, pa.Table.from_pylist, Dataset.from_list])
def test_pairs_from_memory_keep_the_same_rules(table):
    assert fingerprint(from_rows(table(DICTS))) == fingerprint(from_rows(from_rows(DICTS)))
    with pytest.raises(ValueError, match="mine, row 5: the rows of a question must be contiguous"):
        from_rows(table([*DICTS, DICTS[0]]), "mine")


def test_other_things_in_memory_are_refused():
    with pytest.raises(ValueError, match=r"mine: expected .* with rows, got \[\]"):
        from_rows([], "mine")
    with pytest.raises(ValueError, match="mine, row 1: label must be 0 or 1, got nan"):
        from_rows(pa.table({**columns_of(ROWS[:1]), "label": [float("nan")]}), "mine")
    with pytest.raises(ValueError, match="mine: question must be text, got a column of type int64"):
        from_rows(pd.DataFrame({**columns_of(ROWS), "question": 3}), "mine")


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_any_arrow_text_is_accepted(kind):
    table = pa.table(columns_of(ROWS))
    assert as_rows(from_rows(table.set_column(2, "answer", table["answer"].cast(kind)))) == ROWS


def test_concatenate_refuses_an_id_of_two_sets():
    first, second = from_rows(DICTS[:3]), from_rows(DICTS[3:])
    assert as_rows(concatenate([first, second])) == ROWS
    with pytest.raises(ValueError, match="question_id 'q2' is in set 1 and again in set 2"):
        concatenate([first, filter_questions(first, "all").select([2])])
    with pytest.raises(ValueError, match="with the same columns"):
        concatenate([first, second.remove_columns("label")])
    with pytest.raises(ValueError, match="got none"):
        concatenate([])


def test_fingerprint_sees_content_and_not_storage():
    pairs = from_rows(DICTS)
    known = fingerprint(pairs)
    table = pairs.with_format("arrow")[:]
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert fingerprint(Dataset(chunked)) == fingerprint(pairs.select([1, 0, 2, 3]).select([1, 0, 2, 3])) == known
    changed = [pairs.select([1, 0, 2, 3]), pairs.select([0, 1, 2]), pairs.remove_columns("label")]
    changed += [from_rows([{**row, "answer": f"{row['answer']}."} for row in pairs])]
    # The same characters, cut elsewhere.
    cut = {**pairs[2], "question": "When?I", "answer": "n spring"}
    changed += [from_rows([pairs[0], pairs[1], cut, pairs[3]])]
    assert len({known, *map(fingerprint, changed)}) == 6


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12).filter(
    str.strip
)
questions = st.lists(
    st.tuples(text, st.lists(st.tuples(text, st.integers(0, 1)), min_size=1, max_size=3)), min_size=1, max_size=5
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(questions=questions, kind=st.sampled_from(FORMATS))
def test_written_and_read_back_tables_are_equal(tmp_path, questions, kind):
    rows = [
        (f"q{i}", question, *candidate)
        for i, (question, candidates) in enumerate(questions)
        for candidate in candidates
    ]
    path = write(tmp_path / f"my.{kind}", rows)
    if kind == "tsv" and any(set("\t\r\n") & set(text) for row in rows for text in row[:3]):
        assert "expected no tab and no line break" in refusal(path)
    else:
        assert as_rows(load_pairs(path, questions="all")) == rows


def test_folds_leave_out_every_question_once():
    pairs = load_pairs("sample", "train")
    questions = set(pairs["question_id"])
    left = [questions - set(leave_out(pairs, fold, 10)["question_id"]) for fold in range(10)]
    assert set.union(*left) == questions
    assert sum(map(len, left)) == len(questions)
    assert max(map(len, left)) - min(map(len, left)) <= 1
    with pytest.raises(ValueError, match="expected 0 to 9, got 10"):
        leave_out(pairs, 10, 10)


def test_the_sample_pool_has_no_labels():
    assert load_unlabelled("sample-unlabelled", "train").column_names == ["question_id", "question", "answer"]
    with pytest.raises(ValueError, match="sample-unlabelled has no labels; load_unlabelled reads it"):
        load_pairs("sample-unlabelled", "train")


def test_texts_that_cannot_be_had_are_none_and_a_wrong_path_is_still_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("as2lib.data.sources.hub_answers", lambda: False)
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: (_ for _ in ()).throw(ConnectionError("no hub")))
    assert at_hand(("wikiqa:test",)) is None
    assert at_hand(("gpd:test",), questions=None) is None
    assert len(at_hand((str(write(tmp_path / "mine.tsv", ROWS)),))) == len(ROWS)
    with pytest.raises(FileNotFoundError, match="no such file"):
        at_hand((str(tmp_path / "absent.tsv"),))
