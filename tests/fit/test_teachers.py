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


@pytest.fixture
def folder(tmp_path):
    tiny.classifier().save_pretrained(tmp_path / "teacher")
    ENCODER.save(tmp_path / "teacher")
    return tmp_path / "teacher"


def test_a_model_and_its_folder_say_the_same(folder):
    model = cross_encoder.for_ranking(tiny.classifier())
    expected = score(model, PAIRS, ENCODER).logits
    numpy.testing.assert_array_equal(teacher_logits(Ranker(model, ENCODER), PAIRS), expected)
    numpy.testing.assert_allclose(teacher_logits(folder, PAIRS), expected, rtol=1e-6)


def test_a_reranker_of_one_label_says_zero_and_its_score():
    z = numpy.linspace(-2, 2, len(PAIRS))
    for form in (z, z[:, None], torch.tensor(z, requires_grad=True)):
        logits = teacher_logits(form, PAIRS)
        assert logits.shape == (len(PAIRS), 2)
        assert (logits[:, 0] == 0).all()
        numpy.testing.assert_allclose(logits[:, 1], z, rtol=1e-6)


def test_a_module_reads_by_its_own_encoder_or_is_refused_and_so_are_logits_of_other_pairs():
    other = PairEncoder(word_tokenizer(reversed([*tiny.WORDS, *tiny.WORDS[:3]]), 12), 12)
    expected = score(cross_encoder.for_ranking(tiny.classifier()), PAIRS, other).logits
    numpy.testing.assert_array_equal(teacher_logits(Ranker(tiny.classifier(), other), PAIRS), expected)
    with pytest.raises(ValueError):
        train(PAIRS, tiny.classifier(), "kd", [tiny.classifier()], encoder=ENCODER, steps=1)
    numbers = [numpy.full((len(PAIRS), 2), number) for number in (numpy.nan, numpy.inf, 1e39)]
    for wrong in (numpy.zeros((3, 2)), *numbers):
        with pytest.raises(ValueError, match="teacher"):
            teacher_logits(wrong, PAIRS)
    with pytest.raises(ValueError, match="list"):
        train(PAIRS, tiny.classifier(), "kd", "a/folder", encoder=ENCODER, steps=1)
