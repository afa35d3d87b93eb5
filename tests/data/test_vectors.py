import gzip

import numpy
import pytest
import torch
from transformers import BertConfig, BertModel

from as2lib.data.encode import word_tokenizer
from as2lib.data.vectors import embeddings, encoder_vectors, ppmi_vectors, read_vectors, unknown_vector
from as2lib.data.words import unknown_id

GLOVE = "the 0.5 -1\nriver 2 3\nbank 1e-1 4\n"


@pytest.mark.parametrize(("name", "header"), [("v.txt", ""), ("v.txt.gz", "5 2\n")])
def test_text_vectors_are_read_for_the_words_asked_for_also_numberbatchs(tmp_path, name, header):
    with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "wt") as stream:
        stream.write(header + GLOVE + "/c/en/7 1 1\n")
    vectors = read_vectors(tmp_path / name, ["river", "bank", "unheard", "7"])
    expected = {"river": [2, 3], "bank": [pytest.approx(0.1), 4], "7": [1, 1]}
    assert {word: vector.tolist() for word, vector in vectors.items()} == expected


def test_ppmi_of_two_words_by_hand():
    # "a b" three times and "a c" once: with P(a) = 1/2, P(b) = 3/8, P(a, b) = 3/8, the information is ln 2
    found = ppmi_vectors([["a", "b"]] * 3 + [["a", "c"]], 2)
    a, b, c = found.vectors
    assert abs(a @ b) < 1e-6  # b and c only ever stand beside a, and a beside them
    assert b @ c == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError):
        ppmi_vectors([["a", "b"]], 50)


def test_a_sentence_encoders_words_are_centred_reduced_and_of_length_one(tmp_path):
    torch.manual_seed(0)
    words = "red blue green north south river hill stone".split()
    tokenizer = word_tokenizer(words, 16)
    tokenizer.save_pretrained(tmp_path)
    fields = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertModel(BertConfig(vocab_size=len(tokenizer), **fields)).eval()
    model.save_pretrained(tmp_path)
    found = encoder_vectors(tmp_path, words, 7)
    with torch.inference_mode():
        batches = [tokenizer(word, return_tensors="pt") for word in words]
        whole = numpy.stack([model(**batch).last_hidden_state[0].mean(0) for batch in batches])
    centred = whole - whole.mean(axis=0)
    cosine = centred @ centred.T / numpy.outer(*[numpy.linalg.norm(centred, axis=1)] * 2)
    numpy.testing.assert_allclose(found @ found.T, cosine, atol=1e-4)  # 8 centred words span 7 dimensions: nothing lost
    with pytest.raises(ValueError):
        encoder_vectors(tmp_path, words, 9)


def test_vectors_are_made_once_kept_in_half_precision_and_memory_mapped(root):
    (root / "v.txt").write_text(GLOVE)
    source = {"source": "file", "name": "v.txt", "dimensions": 2}
    found = embeddings(source, "1", ["river", "unheard", "river"])
    assert found.words == ["river", "unheard"]
    assert found.vectors.dtype == numpy.float16
    assert isinstance(found.vectors, numpy.memmap)
    numpy.testing.assert_allclose(found.vectors, [[2, 3], unknown_vector(unknown_id("unheard"), 2)], atol=1e-3)
    (root / "v.txt").unlink()  # nothing reads it again
    assert numpy.array_equal(embeddings(source, "1", ["unheard", "river"]).vectors, found.vectors)
