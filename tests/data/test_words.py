from datasets import Dataset

from as2lib.data.words import WordEncoder, unknown_id, words_of


def test_words_are_lower_cased_and_white_space_is_none():
    assert words_of(["The  River's bank, 1843."]) == [["the", "river", "'s", "bank", ",", "1843", "."]]


def test_items_are_questions_with_their_candidates_or_pairs():
    columns = {"question_id": ["1", "1", "2"], "question": ["a b", "a b", "c"], "answer": ["b", "c c zz", "a"]}
    pairs = Dataset.from_dict(columns)
    whole, single = (WordEncoder(["a", "b", "c"], unit).encode(pairs) for unit in ("question", "pair"))
    assert whole["pairs"] == [2, 1]
    assert whole["candidates"] == [[1, 2, 2, unknown_id("zz")], [0]]
    assert whole["length"] == [6, 2]
    assert single["question"] == [[0, 1], [0, 1], [2]]
    batch = WordEncoder(["a", "b", "c"]).collate(list(whole))
    assert batch["candidate_lengths"].tolist() == [1, 3, 1]
    assert batch["candidates"].tolist() == [2, 1]


def test_text_without_blanks_between_words_is_split_by_character_and_a_line_says_so(capfd):
    chinese, japanese = "\u8c01\u5199\u4e86 War and Peace\uff1f", "\u6771\u4eac\u30bf\u30ef\u30fc\u306e333m"
    assert words_of([japanese])[0][:4] == [*japanese[:4]]
    assert "333" in "".join(words_of([japanese])[0])
    assert words_of(["\u9c81\u8fc5\u5199\u7684\u4e66"]) == [[*"\u9c81\u8fc5\u5199\u7684\u4e66"]]
    assert capfd.readouterr().err.count("split by character") == 1
    assert {*words_of([chinese])[0]} >= {"war", "peace"}


def test_empty_text_and_half_a_character_are_no_error():
    assert words_of(["", " ", "a \ud83d"]) == [[], [], ["a", "\ufffd"]]
    items = WordEncoder(["a"]).items(["a", "a"], ["", "a"], [1, 1])
    assert items == [{"question": [0], "candidates": [unknown_id(""), 0], "sizes": [1, 1], "pairs": 2, "length": 3}]
