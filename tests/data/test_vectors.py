import gzip

import numpy
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity
from transformers import AutoModel, AutoTokenizer

from as2lib.data.vectors import embeddings, encoder_vectors, read_vectors, unknown_vector
from as2lib.data.words import unknown_id
from tests.first_hour.hub_like import public_model
from tests.study.conftest import WORDS

GLOVE = "the 0.5 -1\nriver 2 3\nbank 1e-1 4\n"


@pytest.mark.parametrize(("name", "header"), [("v.txt", ""), ("v.txt.gz", "5 2\n")])
def test_text_vectors_are_read_for_the_words_asked_for_also_numberbatchs(tmp_path, name, header):
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "wt") as stream:
        stream.write(header + GLOVE + "/c/en/7 1 1\n")
    vectors = read_vectors(tmp_path / name, ["river", "bank", "unheard", "7"], 2)
    expected = {"river": [2, 3], "bank": [pytest.approx(0.1), 4], "7": [1, 1]}
    assert {word: vector.tolist() for word, vector in vectors.items()} == expected
    with pytest.raises(ValueError, match="with 3 numbers each"):
        read_vectors(tmp_path / name, ["river"], 3)


def test_a_sentence_encoders_words_are_centred_reduced_and_of_length_one(tmp_path):
    folder = public_model(tmp_path / "encoder", labels=None)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    found = encoder_vectors(folder, WORDS, 11)
    with torch.inference_mode():
        batches = [tokenizer(word, return_tensors="pt") for word in WORDS]
        whole = numpy.stack([model(**batch).last_hidden_state[0].mean(0) for batch in batches])
    expected = cosine_similarity(whole - whole.mean(axis=0))  # 12 centred words span 11 dimensions: nothing is lost
    numpy.testing.assert_allclose(found @ found.T, expected, atol=1e-4)
    with pytest.raises(ValueError):
        encoder_vectors(folder, WORDS, 13)


def test_vectors_are_made_once_kept_in_half_precision_and_memory_mapped(root):
    (root / "v.txt").write_text(GLOVE)
    source = {"source": "file", "name": "v.txt", "dimensions": 2}
    found = embeddings(source, "1", ["river", "unheard"])
    assert found.dtype == numpy.float16
    assert isinstance(found, numpy.memmap)
    numpy.testing.assert_allclose(found, [[2, 3], unknown_vector(unknown_id("unheard"), 2)], atol=1e-3)
    (root / "v.txt").unlink()  # nothing reads it again
    assert numpy.array_equal(embeddings(source, "1", ["river", "unheard"]), found)


def test_random_vectors_are_a_words_own_in_whatever_corpus(root):
    first, second = (embeddings({"source": "random", "dimensions": 4}, "1", [*words]) for words in ("ab", "bc"))
    assert numpy.array_equal(first[1], second[0])
    assert not numpy.array_equal(*first)
