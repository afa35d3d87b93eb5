import numpy
import pytest
import torch

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.fit import train
from as2lib.fit.teachers import teacher_logits
from as2lib.models import cross_encoder
from as2lib.ranker import Ranker
from as2lib.score import score
from tests.fit import tiny

PAIRS, ENCODER = tiny.pairs(), tiny.encoder()


def test_a_reranker_of_one_label_says_zero_and_its_score():
    z = numpy.linspace(-2, 2, len(PAIRS))
    for form in (z, z[:, None], torch.tensor(z, requires_grad=True)):
        logits = teacher_logits(form, PAIRS)
        assert logits.shape == (len(PAIRS), 2)
        assert (logits[:, 0] == 0).all()
        numpy.testing.assert_allclose(logits[:, 1], z, rtol=1e-6)


def test_a_model_and_its_folder_say_the_same_by_their_own_encoder(tmp_path):
    other = PairEncoder(word_tokenizer(reversed([*tiny.WORDS, *tiny.WORDS[:3]]), 12), 12)
    expected = score(cross_encoder.for_ranking(tiny.classifier()), PAIRS, other).logits
    numpy.testing.assert_array_equal(teacher_logits(Ranker(tiny.classifier(), other), PAIRS), expected)
    tiny.classifier().save_pretrained(tmp_path)
    other.save(tmp_path)
    numpy.testing.assert_allclose(teacher_logits(tmp_path, PAIRS), expected, rtol=1e-6)


def test_a_module_without_its_encoder_and_logits_of_other_pairs_are_refused():
    with pytest.raises(ValueError):
        train(PAIRS, tiny.classifier(), "kd", [tiny.classifier()], encoder=ENCODER, steps=1)
    numbers = [numpy.full((len(PAIRS), 2), number) for number in (numpy.nan, numpy.inf, 1e39)]
    for wrong in (Ranker.load("bm25"), numpy.zeros((3, 2)), *numbers):
        with pytest.raises(ValueError, match="teacher"):
            teacher_logits(wrong, PAIRS)
