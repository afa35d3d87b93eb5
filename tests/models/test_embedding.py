import json

import numpy
import pytest
import torch
from transformers import AutoModel

from as2lib.data.encode import word_tokenizer
from as2lib.data.pairs import load_pairs
from as2lib.models.embedding import SentenceEncoder
from tests.encoders import classifier

ROWS = [
    {"question_id": "1", "question": "where is the lamp", "answer": "the lamp is here", "label": 1},
    {"question_id": "1", "question": "where is the lamp", "answer": "a river of the north it was", "label": 0},
]
TEXTS = [ROWS[0]["question"], ROWS[0]["answer"], ROWS[1]["answer"]]


def folder(path, family, **pooling):
    classifier(family).base_model.save_pretrained(path)
    word_tokenizer(TEXTS * 4, 40).save_pretrained(path)
    (path / "1_Pooling").mkdir()
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return path


@pytest.mark.parametrize("family", ["bert", "mpnet"])
@pytest.mark.parametrize("first", [False, True])
def test_a_pairs_score_is_the_cosine_of_two_texts_each_read_alone(family, first, tmp_path):
    encoder = SentenceEncoder(
        folder(tmp_path, family, pooling_mode_cls_token=first, pooling_mode_mean_tokens=not first)
    )
    plain, vectors = AutoModel.from_pretrained(tmp_path).eval(), []
    for text in TEXTS:
        with torch.no_grad():
            hidden = plain(**encoder.tokenizer(text, return_tensors="pt")).last_hidden_state[0]  # (n, d)
        vectors.append(hidden[0] if first else hidden.mean(0))
    expected = [float(torch.cosine_similarity(vectors[0], other, dim=0)) for other in vectors[1:]]
    numpy.testing.assert_allclose(encoder.cosine(load_pairs(ROWS)), expected, atol=1e-5)


def test_another_pooling_is_refused(tmp_path):
    with pytest.raises(ValueError, match="pooling_mode_max_tokens"):
        SentenceEncoder(folder(tmp_path, "bert", pooling_mode_max_tokens=True))
