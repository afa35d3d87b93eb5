import numpy
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import AutoModel, AutoTokenizer

from as2lib.data.encode import word_tokenizer
from as2lib.data.pairs import load_pairs
from as2lib.data.sets import note
from as2lib.models.embedding import SentenceEncoder
from tests.encoders import classifier

ROWS = [
    {"question_id": "1", "question": "where is the lamp", "answer": "the lamp is here", "label": 1},
    {"question_id": "1", "question": "where is the lamp", "answer": "a river of the north it was", "label": 0},
]
TEXTS = [ROWS[0]["question"], ROWS[0]["answer"], ROWS[1]["answer"]]


@pytest.mark.parametrize("family", ["bert", "mpnet"])
@pytest.mark.parametrize("first", [False, True])
def test_a_pairs_score_is_the_cosine_of_two_texts_each_read_alone(family, first, tmp_path, capsys):
    note.cache_clear()
    plain, folder = classifier(family).base_model.eval(), str(tmp_path / "saved")
    plain.save_pretrained(tmp_path)
    word_tokenizer(TEXTS * 4, 40).save_pretrained(tmp_path)
    pooling = Pooling(plain.config.hidden_size, "cls" if first else "mean")
    SentenceTransformer(modules=[Transformer(str(tmp_path)), pooling]).save(folder)
    plain, tokenizer, vectors = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder), []
    for text in TEXTS:
        with torch.no_grad():
            hidden = plain(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]  # (n, d)
        vectors.append(hidden[0] if first else hidden.mean(0))
    encoder = SentenceEncoder(folder)
    encoder.encoder.max_seq_length = 7
    encoder.cosine(load_pairs(ROWS))
    assert "1 of 3 texts are longer than 7 tokens" in capsys.readouterr().err
    expected = [float(torch.cosine_similarity(vectors[0], other, dim=0)) for other in vectors[1:]]
    numpy.testing.assert_allclose(SentenceEncoder(folder).cosine(load_pairs(ROWS)), expected, atol=1e-5)
