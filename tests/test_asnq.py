"""ASNQ as its authors released it, with the lists that split the development set."""

import re

import pytest

from as2lib.data import load_pairs, load_unlabelled
from as2lib.data.sources import identity, resolve

TRAIN = [("who ?", 'a "b', 1), ("who ?", "c", 4), ("when ?", "d", 2), ("when ?", "e", 3), ("why ?", "f", 4)]
DEV = [("one ?", "a", 4), ("two ?", "b", 1), ("two ?", "c", 4), ("three ?", "d", 3), ("four ?", "e", 4)]


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    (tmp_path / "root" / "params").mkdir(parents=True)
    monkeypatch.setenv("AS2_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


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


@pytest.mark.parametrize("missing", ["unique.dev", "unique.test"])
def test_missing_list_is_named_and_train_needs_none(folder, missing):
    (folder / missing).unlink()
    for split in ("dev", "test"):
        with pytest.raises(FileNotFoundError, match=rf"dev\.tsv is ASNQ's original one.*missing: {missing}$"):
            resolve(folder, split)
    assert len(load_pairs(folder, "train", "all")) == 5


def test_files_that_are_split_already_need_no_lists(folder):
    for name in ("unique.dev", "unique.test"):
        (folder / name).unlink()
    (folder / "test.tsv").write_text("five ?\tg\t4\n")
    assert len(load_pairs(folder, "dev", "all")) == 5
    assert rows(load_pairs(folder, "test")) == [("five ?", "g", 1)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "dev.tsv",
            "one ?\ta\t4\ntwo ?\tb\t5\n",
            "dev.tsv, row 2 (line 2): expected 3 fields, a question, a sentence and a label",
        ),
        ("dev.tsv", "one ?\ta\t0\n", "dev.tsv, row 1 (line 1): expected 3 fields"),
        ("dev.tsv", "one ?\ta\t4\ntwo ?\t4\n", "dev.tsv, row 2 (line 2): expected 3 fields"),
        ("dev.tsv", "one ?\ta\t4\ntwo ?\t \t4\n", "dev.tsv, row 2 (line 2): expected 3 fields"),
        ("dev.tsv", "one ?\ta\t4\nsix ?\tb\t4\n", "dev.tsv, row 2 (line 2): question 'six ?' is in neither unique.dev"),
        ("unique.test", "one ?\n\nthree ?\ntwo ?\n", "unique.test, line 4: question 'two ?' is also in unique.dev"),
        ("unique.test", "\n", "unique.test: expected one question a line, got none"),
    ],
)
def test_wrong_file_is_refused_in_one_line_with_its_number(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}[^\n]*$"):
        load_pairs(folder, "test")
    assert not list((folder.parent / "root" / "work" / "pairs").glob("*"))


def test_bytes_that_are_not_utf8_are_refused_with_their_line(folder):
    (folder / "train.tsv").write_bytes(b"who ?\ta\t4\nwho ?\t\xff\t1\n")
    with pytest.raises(ValueError, match=r"^train\.tsv, row 2 \(line 2\): expected UTF-8 text, got the byte 0xff"):
        load_pairs(folder, "train")


def test_windows_line_ends_are_no_part_of_label_or_question(folder):
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert rows(load_pairs(folder, "test")) == [("one ?", "a", 1)]
