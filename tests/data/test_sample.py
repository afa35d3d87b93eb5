"""The embedded corpus: what a study may rely on whatever its seed."""

import hashlib
import json
from itertools import groupby

import pytest

from as2lib.data import sample
from as2lib.data.sets import SPLITS

COLUMNS = ["question_id", "question", "answer", "label"]


@pytest.fixture(scope="module")
def corpora():
    return sample.generate(1)


def pages(rows):
    """The candidates of each question, in order."""
    return [list(page) for _, page in groupby(rows, key=lambda row: row["question_id"])]


def splits(corpora):
    return [rows for corpus in corpora.values() for rows in corpus.values()]


def first_is_right(rows, place):
    mixed = [page for page in pages(rows) if len(page) > 3 and any(row["label"] for row in page)]
    return sum(page[place]["label"] for page in mixed) / len(mixed)


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(corpora):
    assert sample.generate(1) == corpora
    assert sample.generate(2) != corpora


def test_every_row_has_exactly_the_columns_of_the_pair_table(corpora):
    names = {"sample-transfer": SPLITS, "sample": SPLITS, "sample-wide": SPLITS[1:]}
    assert {name: tuple(corpus) for name, corpus in corpora.items()} == names
    for rows in splits(corpora):
        assert all(list(row) == COLUMNS and row["label"] in (0, 1) for row in rows)


def test_no_question_and_no_id_occurs_twice(corpora):
    firsts = [page[0] for rows in splits(corpora) for page in pages(rows)]
    assert len({row["question"] for row in firsts}) == len({row["question_id"] for row in firsts}) == len(firsts)


def test_target_test_set_has_at_least_300_answered_questions(corpora):
    assert sum(any(row["label"] for row in page) for page in pages(corpora["sample"]["test"])) >= 300


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_target_splits_have_questions_with_two_with_no_and_with_only_correct_candidates(corpora, split):
    labels = [[row["label"] for row in page] for page in pages(corpora["sample"][split])]
    assert any(sum(page) == 2 < len(page) for page in labels)
    assert any(sum(page) == 0 for page in labels)
    assert any(all(page) for page in labels)


def test_first_candidates_are_right_more_often_than_last_ones(corpora):
    test = corpora["sample"]["test"]
    assert first_is_right(test, 0) > 1.5 * first_is_right(test, -1)


def test_some_wordings_occur_in_the_target_set_alone(corpora):
    text = {name: " ".join(row["answer"] for row in corpora[name]["train"]) for name in ("sample", "sample-transfer")}
    for _, answers in sample.EVENTS.values():
        wording = answers[-1].split("|")[0]
        assert wording in text["sample"]
        assert wording not in text["sample-transfer"]


def test_no_pair_is_both_right_and_wrong():
    for rows in splits(sample.generate(3)):
        seen = {}
        assert all(seen.setdefault((row["question"], row["answer"]), row["label"]) == row["label"] for row in rows)


def test_rows_and_pool_of_the_default_seed_are_frozen():
    """Where this fails on purpose, raise `sample.VERSION` and freeze the new digest."""
    corpora = sample.generate()
    wide = {"sample-wide": corpora.pop("sample-wide")}
    digests = [hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16] for rows in (corpora, wide)]
    assert (sample.VERSION, digests) == (1, ["2d3dd53580f25288", "61ed36b61732c35e"])
    rows = json.dumps(sample.generate_unlabelled()).encode()
    assert hashlib.sha256(rows).hexdigest()[:16] == "d1fc84d4c5a29ad1"


def test_wide_questions_have_tens_of_candidates_but_for_those_with_only_correct_ones(corpora):
    sizes = [len(page) for page in pages(corpora["sample-wide"]["test"]) if not all(row["label"] for row in page)]
    assert 20 <= min(sizes) <= max(sizes) <= 28
    assert len(sizes) > 130


def test_the_unlabelled_pool_is_four_times_the_labelled_questions_and_shares_none_with_either_corpus():
    pool, corpora = sample.generate_unlabelled(1)["sample-unlabelled"]["train"], sample.generate(1)
    questions = {row["question"] for row in pool}
    assert len(questions) == 4 * len({row["question"] for row in corpora["sample"]["train"]})
    assert not questions & {row["question"] for rows in splits(corpora) for row in rows}
    assert set(pool[0]) == {"question_id", "question", "answer"}
