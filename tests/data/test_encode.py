import json
from itertools import product

import pandas
import pytest
from datasets import Dataset

from as2lib.data import load_pairs
from as2lib.data.encode import PairEncoder, cut_share, fitting_length, load_encoder, word_tokenizer
from as2lib.data.pairs import encoded
from as2lib.data.words import WordEncoder, unknown_id, words_of

QUESTIONS = ["Who wrote it?", "Who wrote it?", "When?"]
ANSWERS = ["Ann wrote it in the spring of a wet year .", "It rained .", "In spring"]
TEXTS = [*ANSWERS, *QUESTIONS]
SEP = 3


@pytest.fixture
def tokenizer():
    return word_tokenizer(TEXTS, 32)


@pytest.fixture
def pairs():
    return load_pairs(pandas.DataFrame({"question": QUESTIONS, "answer": ANSWERS, "label": 1}))


def test_a_saved_encoder_is_loaded_as_it_was_and_takes_another_length(tokenizer, tmp_path, pairs):
    PairEncoder(tokenizer, 12).save(tmp_path / "model")
    loaded = load_encoder(tmp_path / "model")
    assert encoded(pairs, loaded).to_dict() == encoded(pairs, PairEncoder(tokenizer, 12)).to_dict()
    assert load_encoder(tmp_path / "model", 9).max_length == 9
    WordEncoder(["a", "b"], "pair", 7).save(tmp_path)
    for place, length in product([tmp_path, tmp_path / "model"], [0, -3, 2, 9.5]):
        with pytest.raises(ValueError, match="max_length"):
            load_encoder(place, length)
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
def test_a_model_of_fewer_positions_is_cut_there_and_a_line_says_so(tokenizer, tmp_path, capfd, config, expected):
    PairEncoder(tokenizer, 32).save(tmp_path)
    for content in (config, {"model_type": "mhs", "backbone": config}):
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert load_encoder(tmp_path).max_length == (expected or 32)
    assert ("pairs are cut there, not at 32" in capfd.readouterr().err) == (expected is not None)


def test_the_share_of_pairs_that_are_cut_is_counted_and_a_fitting_length_cuts_few(tokenizer, pairs):
    lengths = encoded(pairs, PairEncoder(tokenizer, 32))["length"][:]
    assert PairEncoder(tokenizer, 9).lengths(QUESTIONS, ANSWERS).tolist() == lengths == [18, 10, 7]
    assert [cut_share(pairs, PairEncoder(tokenizer, length)) for length in (7, 10, 18)] == [2 / 3, 1 / 3, 0]
    assert [fitting_length(pairs, PairEncoder(tokenizer, length)) for length in (512, 20)] == [32, 20]


def test_the_end_token_pads_where_there_is_no_other_and_the_tokenizer_stays_as_it_was(tokenizer):
    tokenizer.pad_token, tokenizer.eos_token = None, "[SEP]"
    assert PairEncoder(tokenizer, 32).pad_id == SEP
    assert tokenizer.pad_token is None


def test_encoding_equals_the_tokenizer_pair_by_pair_cut_from_the_end_of_the_longer_text(tokenizer, pairs):
    items = encoded(pairs, PairEncoder(tokenizer, 32))
    assert [items.features[name].feature.dtype for name in ("input_ids", "token_type_ids")] == ["int32", "int8"]
    for row, pair in zip(items, pairs, strict=True):
        expected = tokenizer(pair["question"], pair["answer"])
        assert row["input_ids"] == expected["input_ids"]
        assert row["token_type_ids"] == expected["token_type_ids"]
        assert row["length"] == len(expected["input_ids"])
    for number in (2, 40):  # few are encoded one by one
        items = PairEncoder(tokenizer, 32).items(["who wrote"] * number, [""] * number, range(number))
        assert items[0]["input_ids"] == [*tokenizer("who wrote")["input_ids"], SEP]
    row = encoded(pairs, PairEncoder(tokenizer, 12))[0]
    assert tokenizer.decode(row["input_ids"]) == "[CLS] who wrote it ? [SEP] ann wrote it in the [SEP]"
    assert encoded(pairs, PairEncoder(word_tokenizer(TEXTS[:2], 32), 12))[0]["input_ids"] != row["input_ids"]
    [row] = PairEncoder(tokenizer, 9).items(ANSWERS[:1], ["It rained ."], [0])
    assert tokenizer.decode(row["input_ids"]) == "[CLS] ann wrote it [SEP] it rained . [SEP]"


def test_items_are_questions_with_their_candidates_or_pairs():
    columns = {"question_id": ["1", "1", "2"], "question": ["a b", "a b", "c"], "answer": ["b", "c c zz", "a"]}
    pairs = Dataset.from_dict(columns)
    whole, single = (encoded(pairs, WordEncoder(["a", "b", "c"], unit)) for unit in ("question", "pair"))
    assert whole["pairs"] == [2, 1]
    assert whole["candidates"] == [[1, 2, 2, unknown_id("zz")], [0]]
    assert whole["length"] == [6, 2]
    assert single["question"] == [[0, 1], [0, 1], [2]]
    batch = WordEncoder(["a", "b", "c"]).collate(list(whole))
    assert batch["candidate_lengths"].tolist() == [1, 3, 1]
    assert batch["candidates"].tolist() == [2, 1]


def test_a_model_from_nothing_reads_chinese_by_character_and_rankers_that_count_words_say_that_they_do_not(capfd):
    text = "who is \u9c81\u8fc5?"
    assert (len(set(word_tokenizer([text], 32)(text)["input_ids"])), capfd.readouterr().err) == (7, "")
    assert words_of([text] * 2) == [["who", "is", "\u9c81\u8fc5", "?"]] * 2
    [line] = capfd.readouterr().err.splitlines()
    assert "not split" in line
