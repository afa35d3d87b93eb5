import numpy
import pytest
import torch
from datasets import Dataset

from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.models import cross_encoder
from as2lib.score import score
from tests.marks import needs_bf16

WORDS = "a b c d e f g h i j k l m n o p".split()


@pytest.fixture
def scorer(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    torch.manual_seed(0)
    tokenizer = word_tokenizer(WORDS, 24)
    fields = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = {"model_type": "bert", "vocab_size": len(tokenizer), "initializer_range": 0.5, **fields}
    return cross_encoder.build(config), PairEncoder(tokenizer, 24)


def pairs(n=37):
    generator = numpy.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, generator.integers(1, 12))) for _ in range(2 * n)]
    return Dataset.from_dict({"question_id": ["q"] * n, "question": texts[:n], "answer": texts[n:]})


def test_scores_come_in_the_callers_order_whatever_the_batches(scorer):
    model, encoder = scorer
    one_by_one, together = (score(model, pairs(), encoder, batch_tokens=tokens).score for tokens in (1, 10_000))
    numpy.testing.assert_allclose(one_by_one, together, atol=1e-5)
    reversed_pairs = pairs().select(range(36, -1, -1))
    numpy.testing.assert_allclose(score(model, reversed_pairs, encoder).score[::-1], together, atol=1e-5)


def test_a_score_is_the_float64_probability_of_class_one(scorer):
    found = score(scorer[0], pairs(), scorer[1])
    assert found.score.dtype == numpy.float64
    assert found.logits.dtype == numpy.float32
    expected = torch.from_numpy(found.logits).double().softmax(-1)[:, 1].numpy()
    numpy.testing.assert_allclose(found.score, expected, atol=1e-12)
    assert found.head_logits is None


@needs_bf16
def test_bf16_is_near_float32_and_has_hardly_more_ties(scorer):
    exact, fast = (score(scorer[0], pairs(), scorer[1], precision).score for precision in ("float32", "bf16"))
    assert numpy.abs(exact - fast).max() < 0.05
    assert len(set(fast)) > 0.9 * len(set(exact))


def test_the_model_keeps_its_mode_and_is_scored_without_dropout(scorer):
    model = scorer[0].train()
    first, second = (score(model, pairs(), scorer[1]).score for _ in range(2))
    assert numpy.array_equal(first, second)
    assert model.training
