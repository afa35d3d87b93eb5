"""Tokens are made once, are the same every time, and are padded to the longest pair of a batch."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from as2lib.data import encode
from as2lib.data.encode import PairEncoder, tokenizer_fingerprint, word_tokenizer
from as2lib.data.pairs import from_rows

QUESTIONS = ["Who wrote it?", "Who wrote it?", "When?"]
ANSWERS = ["Ann wrote it in the spring of a wet year .", "It rained .", "In spring"]
ROWS = [
    {"question_id": question, "question": question, "answer": answer, "label": 1}
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True)
]
TEXTS = [row[key] for row in ROWS for key in ("question", "answer")]
CLS, SEP, PAD = 2, 3, 0


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    return tmp_path


@pytest.fixture
def tokenizer():
    return word_tokenizer(TEXTS, 32)


@pytest.fixture
def pairs():
    return from_rows(ROWS)


def test_words_are_numbered_by_count_then_alphabet_each_as_often_as_it_stands():
    vocabulary = word_tokenizer(["b a c B", "C d."], 16).get_vocab()
    assert " ".join(sorted(vocabulary, key=vocabulary.get)) == "[PAD] [UNK] [CLS] [SEP] [MASK] b c . a d"
    assert word_tokenizer(["a b", "c", "c", "b c"], 8).convert_ids_to_tokens([5, 6, 7]) == ["c", "b", "a"]


def test_other_words_are_unknown_and_texts_without_words_are_refused():
    tokenizer = word_tokenizer(["b"], 16)
    assert tokenizer("a b")["input_ids"] == [CLS, tokenizer.unk_token_id, 5, SEP]
    with pytest.raises(ValueError, match="expected texts with words, got none"):
        word_tokenizer(["  "], 16)


def test_pair_is_question_sep_answer_with_two_types_cut_from_the_end_of_the_longer_text(tokenizer, pairs):
    encoded = tokenizer("Who?", "It rained")
    assert tokenizer.decode(encoded["input_ids"]) == "[CLS] who ? [SEP] it rained [SEP]"
    assert encoded["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]
    row = PairEncoder(tokenizer, 12).encode(pairs)[0]
    assert tokenizer.decode(row["input_ids"]) == "[CLS] who wrote it ? [SEP] ann wrote it in the [SEP]"


def test_tokenizer_survives_saving(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path / "saved")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert tokenizer_fingerprint(loaded) == tokenizer_fingerprint(tokenizer)
    assert loaded.model_max_length == 32
    assert loaded(TEXTS[0], TEXTS[1]) == tokenizer(TEXTS[0], TEXTS[1])


def test_tokenizer_has_the_same_bytes_in_another_process(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path / "here")
    code = "import sys; from as2lib.data.encode import word_tokenizer; " + (
        f"word_tokenizer({TEXTS!r}, 32).save_pretrained(sys.argv[1])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_encoding_equals_the_tokenizer_pair_by_pair(tokenizer, pairs):
    encoded = PairEncoder(tokenizer, 32).encode(pairs)
    assert encoded.column_names == ["input_ids", "token_type_ids", "length"]
    assert [encoded.features[name].feature.dtype for name in encoded.column_names[:2]] == ["int32", "int8"]
    for row, pair in zip(encoded, pairs, strict=True):
        expected = tokenizer(pair["question"], pair["answer"])
        assert row["input_ids"] == expected["input_ids"]
        assert row["token_type_ids"] == expected["token_type_ids"]
        assert row["length"] == len(expected["input_ids"])


def test_token_types_are_left_out_where_the_tokenizer_has_none(tokenizer, pairs):
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    encoder = PairEncoder(tokenizer, 32)
    encoded = encoder.encode(pairs)
    assert encoded.column_names == ["input_ids", "length"]
    assert set(encoder.collate([encoded[0]])) == {"input_ids", "attention_mask"}


def test_same_pairs_are_tokenised_once(tokenizer, pairs, root, monkeypatch):
    first = PairEncoder(tokenizer, 32).encode(pairs)
    monkeypatch.setattr(PairEncoder, "_tokens", lambda *_: pytest.fail("tokenised twice"))
    again = PairEncoder(tokenizer, 32).encode(from_rows(ROWS))
    assert again.to_dict() == first.to_dict()
    assert again.cache_files
    files = [path.name for path in (root / "work" / "encoded").iterdir()]
    assert files == [f"{PairEncoder(tokenizer, 32).fingerprint(pairs)}.arrow"]


def test_failed_encoding_leaves_nothing(tokenizer, pairs, root, monkeypatch):
    monkeypatch.setattr(PairEncoder, "_tokens", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        PairEncoder(tokenizer, 32).encode(pairs)
    assert list((root / "work").rglob("*")) == []


def test_several_processes_make_the_tokens_of_one(tokenizer, root, monkeypatch):
    monkeypatch.setattr(encode, "_BATCH", 2)
    environment, variables = os.environ, dict(os.environ)
    pairs = from_rows([{**row, "question_id": f"q{i}"} for i, row in enumerate(ROWS * 5)])
    one, two = (PairEncoder(word_tokenizer(TEXTS, 32), 32 - i).encode(pairs, i + 1) for i in range(2))
    assert one.to_dict() == two.to_dict()
    assert PairEncoder(tokenizer, 31).encode(pairs).cache_files == two.cache_files  # found by any number of processes
    assert os.environ is environment
    assert dict(environment) == variables


def test_cache_is_keyed_by_pairs_length_and_tokenizer(tokenizer, pairs):
    known = {
        PairEncoder(tokenizer, 32).fingerprint(pairs),
        PairEncoder(tokenizer, 31).fingerprint(pairs),
        PairEncoder(tokenizer, 32).fingerprint(pairs.select([0, 1])),
        PairEncoder(word_tokenizer(TEXTS[:2], 32), 32).fingerprint(pairs),
    }
    assert len(known) == 4


def test_fingerprint_does_not_change_by_using_the_tokenizer(tokenizer, pairs):
    before = tokenizer_fingerprint(tokenizer)
    tokenizer("a", "b", truncation=True, max_length=8, padding="max_length")
    assert tokenizer_fingerprint(tokenizer) == before


def test_unlabelled_pairs_are_encoded_alike(tokenizer, pairs):
    encoder = PairEncoder(tokenizer, 32)
    assert encoder.encode(pairs.remove_columns("label")).to_dict() == encoder.encode(pairs).to_dict()


def test_batch_is_padded_on_the_right_to_its_longest(tokenizer, pairs):
    encoder = PairEncoder(tokenizer, 32)
    encoded = encoder.encode(pairs)
    batch = encoder.collate([encoded[1], encoded[2]])
    lengths = [encoded[1]["length"], encoded[2]["length"]]
    assert batch["input_ids"].shape == (2, max(lengths))
    assert batch["attention_mask"].sum(dim=1).tolist() == lengths
    assert batch["input_ids"][1].tolist() == encoded[2]["input_ids"] + [PAD] * (max(lengths) - lengths[1])
    expected = tokenizer.pad({"input_ids": encoded[1:]["input_ids"], "token_type_ids": encoded[1:]["token_type_ids"]})
    assert {name: tensor.tolist() for name, tensor in batch.items()} == dict(expected)
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_labels_and_teacher_logits_pass_through(tokenizer):
    item = {"input_ids": [CLS, SEP], "labels": 1, "teacher_logits": np.arange(6, dtype=np.float64).reshape(3, 2)}
    batch = PairEncoder(tokenizer, 32).collate([item, {**item, "labels": 0}])
    assert batch["labels"].tolist() == [1, 0]
    assert batch["labels"].dtype == torch.int64
    assert batch["teacher_logits"].shape == (2, 3, 2)
    assert batch["teacher_logits"].dtype == torch.float32


def test_encoder_refuses_what_it_cannot_use(tokenizer):
    with pytest.raises(ValueError, match="must leave room for words beside the special tokens, got 3"):
        PairEncoder(tokenizer, 3)
    with pytest.raises(ValueError, match="expected a fast tokenizer, got object"):
        PairEncoder(object(), 32)
