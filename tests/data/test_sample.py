"""The embedded corpus: what a study may rely on whatever its seed."""

import hashlib
import json
from itertools import groupby

import pytest

from as2lib.data import sample


@pytest.fixture(scope="module")
def corpora():
    return sample.generate(1)


def pages(rows):
    """The candidates of each question, in order."""
    return [list(page) for _, page in groupby(rows, key=lambda row: row["question_id"])]


def splits(corpora):
    return [rows for corpus in corpora.values() for rows in corpus.values()]


def test_target_splits_have_questions_with_two_with_no_and_with_only_correct_candidates(corpora):
    for rows in corpora["sample"].values():
        labels = [[row["label"] for row in page] for page in pages(rows)]
        assert any(sum(page) == 2 < len(page) for page in labels)
        assert any(sum(page) == 0 for page in labels)
        assert any(all(page) for page in labels)
    labels = [[row["label"] for row in page] for page in pages(corpora["sample"]["test"])]
    assert sum(map(any, labels)) >= 300
    mixed = [page for page in labels if len(page) > 3 and any(page)]
    assert sum(page[0] for page in mixed) > 1.5 * sum(page[-1] for page in mixed)


def test_rows_and_pool_of_the_default_seed_are_frozen():
    """Where this fails on purpose, raise `sample.VERSION` and freeze the new digest."""
    corpora = sample.generate()
    wide = {"sample-wide": corpora.pop("sample-wide")}
    digests = [hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16] for rows in (corpora, wide)]
    assert (sample.VERSION, digests) == (1, ["2d3dd53580f25288", "61ed36b61732c35e"])
    rows = json.dumps(sample.generate_unlabelled()).encode()
    assert hashlib.sha256(rows).hexdigest()[:16] == "d1fc84d4c5a29ad1"


def test_no_question_and_no_id_occurs_twice_no_pair_is_right_and_wrong_and_the_pool_shares_no_question(corpora):
    firsts = [page[0] for rows in splits(corpora) for page in pages(rows)]
    questions = {row["question"] for row in firsts}
    assert len(questions) == len({row["question_id"] for row in firsts}) == len(firsts)
    for rows in splits(corpora):
        seen = {}
        assert all(seen.setdefault((row["question"], row["answer"]), row["label"]) == row["label"] for row in rows)
    assert not questions & {row["question"] for row in sample.generate_unlabelled(1)["sample-unlabelled"]["train"]}
