from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset

from as2lib.data import words
from as2lib.metrics.ranking import summary
from as2lib.models import lexical


def make_pairs(question_id, question="what", answer=None, label=None):
    n = len(question_id)
    columns = {"question_id": list(question_id), "question": [question] * n}
    return Dataset.from_dict(columns | {"answer": answer or ["that"] * n, "label": label or [0] * n})


def test_overlap_counts_distinct_lower_cased_tokens_and_positions_within_the_question():
    answers = ["The tower, the TOWER!", "It isn't known", "", "Who built the tower of the North ?"]
    pairs = make_pairs("aaaa", "Who built the Tower of the North?", answers)
    np.testing.assert_array_equal(lexical.word_overlap(pairs), [2, 0, 0, 7])
    np.testing.assert_array_equal(lexical.reciprocal_rank(make_pairs("bbbaa")), [1, 1 / 2, 1 / 3, 1, 1 / 2])
    pairs = make_pairs("aaaa", "a red car", ["none", "red", "red", "red car"])
    scores = lexical.overlap_then_rank(pairs)  # the original order decides between equal overlaps only
    assert np.argsort(-scores).tolist() == [3, 1, 2, 0]
    np.testing.assert_array_equal(np.floor(scores), lexical.word_overlap(pairs))
    for ranker in (lexical.reciprocal_rank, lexical.overlap_then_rank):
        with pytest.raises(ValueError):
            ranker(make_pairs("aabab"))


def test_bm25_is_its_formula_worked_by_hand():
    pairs = make_pairs("aaa", "red red boat", ["red car", "a red red boat now", "green"])
    # N 3, mean length 8 / 3; df of red 2, of boat 1
    red, boat = np.log(1 + 1.5 / 2.5), np.log(1 + 2.5 / 1.5)
    norm_2, norm_5 = (1.2 * (0.25 + 0.75 * length / (8 / 3)) for length in (2, 5))
    first = 2 * red * 2.2 / (1 + norm_2)
    second = 2 * red * 2 * 2.2 / (2 + norm_5) + boat * 2.2 / (1 + norm_5)
    np.testing.assert_allclose(lexical.bm25(pairs), [first, second, 0], rtol=1e-12)


@pytest.mark.parametrize("labels", [(1,), (0, 1), (1, 1), (0, 0, 1), (0, 1, 1), (0, 0, 0, 0, 1), (0, 1, 0, 1, 1)])
def test_chance_equals_the_mean_over_every_order(labels):
    n = len(labels)
    orders = [summary(["q"] * n, labels, order) for order in permutations(range(n))]
    expected = lexical.expected_random(make_pairs("q" * n, label=list(labels)))
    for name, value in pd.DataFrame(orders).mean().items():
        assert expected[name] == pytest.approx(value, abs=1e-12)


def test_words_of_other_texts_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(words, "WORDS_HELD", 1000)
    for call in range(60):
        words.words_of([f"order x{call}y{i}" for i in range(100)])
    assert len(words._splitter().vocab) < 2000
