import json

import numpy as np
import pytest

from as2lib.data import load_pairs
from as2lib.data.encode import (
    PairEncoder,
    by_length,
    cut_share,
    fitting_length,
    load_encoder,
    positions,
    word_tokenizer,
)
from as2lib.data.words import WordEncoder

QUESTIONS = ["Who wrote it?", "Who wrote it?", "When?"]
ANSWERS = ["Ann wrote it in the spring of a wet year .", "It rained .", "In spring"]
ROWS = [
    {"question_id": question, "question": question, "answer": answer, "label": 1}
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True)
]
TEXTS = [row[key] for row in ROWS for key in ("question", "answer")]
CLS, SEP = 2, 3


@pytest.fixture
def tokenizer():
    return word_tokenizer(TEXTS, 32)


@pytest.fixture
def pairs():
    return load_pairs(ROWS)


def test_words_are_numbered_by_count_then_alphabet_each_as_often_as_it_stands():
    vocabulary = word_tokenizer(["b a c B", "C d."], 16).get_vocab()
    assert " ".join(sorted(vocabulary, key=vocabulary.get)) == "[PAD] [UNK] [CLS] [SEP] [MASK] b c . a d"
    assert word_tokenizer(["a b", "c", "c", "b c"], 8).convert_ids_to_tokens([5, 6, 7]) == ["c", "b", "a"]


def test_tokens_are_kept_by_pairs_length_and_tokenizer(tokenizer, pairs):
    encoder = PairEncoder(tokenizer, 32)
    fingerprints = {
        encoder.fingerprint(pairs),
        encoder.fingerprint(pairs.select([0, 1])),
        PairEncoder(tokenizer, 31).fingerprint(pairs),
        PairEncoder(word_tokenizer(TEXTS[:2], 32), 32).fingerprint(pairs),
    }
    assert len(fingerprints) == 4


@pytest.mark.parametrize("pairs", [2, 40])  # few are encoded one by one
def test_half_a_character_is_replaced_and_an_empty_text_is_empty(tokenizer, pairs):
    items = PairEncoder(tokenizer, 32).items(["who ?\ud83d"] * pairs, ["", "it"] * (pairs // 2), [0] * pairs)
    unknown = tokenizer.unk_token_id
    who, mark = tokenizer("who ?")["input_ids"][1:3]
    assert items[0]["input_ids"] == [CLS, who, mark, unknown, SEP, SEP]
    assert items[1]["input_ids"][:6] == [CLS, who, mark, unknown, SEP, tokenizer("it")["input_ids"][1]]


def test_a_saved_encoder_is_loaded_as_it_was_and_takes_another_length(tokenizer, tmp_path, pairs):
    PairEncoder(tokenizer, 12).save(tmp_path / "model")
    loaded = load_encoder(tmp_path / "model")
    assert loaded.max_length == 12
    assert loaded.encode(pairs).to_dict() == PairEncoder(tokenizer, 12).encode(pairs).to_dict()
    assert load_encoder(tmp_path / "model", 9).max_length == 9
    WordEncoder(["a", "b"], "pair", 7).save(tmp_path)
    encoder = load_encoder(tmp_path)
    assert (list(encoder.number), encoder.unit, encoder.max_length) == (["a", "b"], "pair", 7)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "bert", "max_position_embeddings": 10}, 10),
        ({"model_type": "roberta", "max_position_embeddings": 14, "pad_token_id": 1}, 12),
        ({"model_type": "deberta-v2", "max_position_embeddings": 10, "position_biased_input": False}, None),
    ],
)
def test_a_model_with_fewer_positions_than_asked_for_is_cut_there_and_a_line_says_so(
    tokenizer, tmp_path, capfd, config, expected
):
    assert positions(config) == expected
    PairEncoder(tokenizer, 32).save(tmp_path)
    for content in (config, {"model_type": "mhs", "backbone": config}):
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert load_encoder(tmp_path).max_length == (expected or 32)
    assert ("pairs are cut there, not at 32" in capfd.readouterr().err) == (expected is not None)


def test_the_share_of_pairs_that_are_cut_is_counted_and_a_fitting_length_cuts_few(tokenizer, pairs):
    lengths = PairEncoder(tokenizer, 32).encode(pairs)["length"][:]
    assert PairEncoder(tokenizer, 9).lengths(QUESTIONS, ANSWERS).tolist() == lengths == [18, 10, 7]
    assert [cut_share(pairs, PairEncoder(tokenizer, length)) for length in (7, 10, 18)] == [2 / 3, 1 / 3, 0]
    assert fitting_length(pairs, tokenizer) == 32
    assert fitting_length(pairs, tokenizer, {"max_position_embeddings": 20}) == 20


def test_batches_hold_as_many_rows_as_fit_with_their_padding():
    batches = by_length(np.array([3, 9, 1, 8, 0]), 16)
    assert [batch.tolist() for batch in batches] == [[1], [3, 0], [2, 4]]


def test_encoding_equals_the_tokenizer_pair_by_pair_cut_from_the_end_of_the_longer_text(tokenizer, pairs):
    encoded = PairEncoder(tokenizer, 32).encode(pairs)
    assert [encoded.features[name].feature.dtype for name in ("input_ids", "token_type_ids")] == ["int32", "int8"]
    for row, pair in zip(encoded, pairs, strict=True):
        expected = tokenizer(pair["question"], pair["answer"])
        assert row["input_ids"] == expected["input_ids"]
        assert row["token_type_ids"] == expected["token_type_ids"]
        assert row["length"] == len(expected["input_ids"])
    row = PairEncoder(tokenizer, 12).encode(pairs)[0]
    assert tokenizer.decode(row["input_ids"]) == "[CLS] who wrote it ? [SEP] ann wrote it in the [SEP]"
