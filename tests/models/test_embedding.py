import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from sentence_transformers.util import cos_sim

from as2lib.data.encode import word_tokenizer
from as2lib.data.sets import note
from as2lib.models.embedding import SentenceEncoder
from tests.encoders import classifier
from tests.fit import tiny


def test_a_pairs_score_is_the_cosine_of_two_texts_and_those_that_are_cut_are_counted(tmp_path, capsys):
    note.cache_clear()
    folder, pairs = str(tmp_path / "saved"), tiny.pairs(1)
    texts = [pairs["question"][0], *pairs["answer"]]
    classifier("mpnet").base_model.save_pretrained(tmp_path)
    word_tokenizer(texts * 4, 40).save_pretrained(tmp_path)
    SentenceTransformer(modules=[Transformer(str(tmp_path)), Pooling(32, "mean")]).save(folder)
    question, *answers = SentenceTransformer(folder).encode(texts)
    encoder = SentenceEncoder(folder)
    assert encoder.cosine(pairs) == pytest.approx(cos_sim(question, answers)[0].tolist(), abs=1e-5)
    encoder.encoder.max_seq_length = 5
    encoder.cosine(pairs)
    longer = sum(len(text.split()) + 2 > 5 for text in texts)
    assert capsys.readouterr().err.count(f"as2: {longer} of {len(texts)} texts are longer than") == 1
