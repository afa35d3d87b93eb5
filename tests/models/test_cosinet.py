"""Cosinet and Compare-Aggregate, which share their words, their pairs and their rank RNN."""

import pytest
import torch
from safetensors.torch import load_file

from as2lib import models
from as2lib.data.words import WordEncoder
from as2lib.models.compare_aggregate import CompareAggregate, unit_variance
from as2lib.models.cosinet import Cosinet

WORDS = "a b c d e f g h".split()
MODELS = {"cosinet": Cosinet, "ca": CompareAggregate}
RNNS = [(None, False), ("rnn", False), ("rnn", True), ("lstm", False), ("lstm", True)]
CANDIDATES = ["a c d", "e", "b b f g h", "h a", "c c c c"]

pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")  # of torch, for filters of even size


def build(name="cosinet", rank_rnn=None, bidirectional=False, **fields):
    torch.manual_seed(0)
    vectors = torch.randn(len(WORDS), 6)
    return MODELS[name](vectors, hidden=4, rank_rnn=rank_rnn, bidirectional=bidirectional, **fields).eval()


def batch(*lists):
    """Of (question, candidates) each."""
    questions = [question for question, candidates in lists for _ in candidates]
    ids = [number for number, (_, candidates) in enumerate(lists) for _ in candidates]
    encoder = WordEncoder(WORDS)
    return encoder.collate(encoder.items(questions, [text for _, texts in lists for text in texts], ids))


def scores(model, *lists):
    with torch.no_grad():
        return model(**batch(*lists)).logits[:, 1]


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_scores_as_before_also_words_it_has_never_seen(tmp_path, name):
    model, lists = build(name, "rnn", True), ("a b unheard", [*CANDIDATES, "zebra quagga a"])
    model.save_pretrained(tmp_path)
    again = models.load(tmp_path).eval()
    torch.testing.assert_close(scores(again, lists), scores(model, lists))
    assert (again.config.rank_rnn, again.config.probabilities) == ("rnn", False)
    assert load_file(tmp_path / "model.safetensors")["vectors"].dtype == again.vectors.dtype == torch.float16
    assert "vectors" not in dict(model.named_parameters())


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_learns_and_the_loss_is_the_binary_cross_entropy(name):
    model, labels = build(name, "lstm", True), torch.tensor([0, 1, 0, 0, 1])
    output = model(**batch(("a b c d e f", CANDIDATES)), labels=labels)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(output.logits[:, 1], labels.float())
    torch.testing.assert_close(output.loss, expected)
    output.loss.backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", RNNS)
def test_other_questions_of_a_batch_change_no_score_and_another_order_only_a_rank_rnns(name, shape):
    model, order = build(name, *shape), [3, 0, 4, 2, 1]
    lists = ("a b", CANDIDATES), ("c d e f g", ["d " * 9, "h"])
    alone, other = (scores(model, each) for each in lists)
    torch.testing.assert_close(scores(model, *lists), torch.cat([alone, other]), atol=1e-5, rtol=0)
    difference = (alone[order] - scores(model, ("a b", [CANDIDATES[i] for i in order]))).abs().max()
    assert difference < 1e-5 if shape[0] is None else difference > 1e-3


@pytest.mark.parametrize("related", [True, False])
def test_cosinet_and_compare_aggregate_by_a_second_straightforward_computation(related):
    model, of_ca = build(related=related), build("ca")
    vectors = model.vectors.float()
    scaled = unit_variance(vectors)
    projected = torch.sigmoid(of_ca.gate(scaled)) * torch.tanh(of_ca.content(scaled))
    expected, expected_ca = [], []

    def convolve(layer, words):
        return torch.nn.functional.conv1d(words.T[None], layer.weight, layer.bias, padding="same")[0].amax(1)

    def with_cosine(own, other):
        cosine = torch.nn.functional.cosine_similarity(own[:, None], other[None], dim=2).amax(1, keepdim=True)
        return torch.cat([own, cosine * related], 1)

    for text in CANDIDATES:
        places = [[WORDS.index(word) for word in words.split()] for words in ("a b", text)]
        question, candidate = (vectors[rows] for rows in places)
        q = convolve(model.question, with_cosine(question, candidate)).relu()
        c = convolve(model.candidate, with_cosine(candidate, question)).relu()
        expected.append(model.classifier(torch.cat([q * c, q - c])))
        question, candidate = (projected[rows] for rows in places)
        attended_q = question * ((question @ candidate.T).softmax(1) @ candidate)
        attended_c = candidate * ((candidate @ question.T).softmax(1) @ question)
        q = torch.cat([convolve(layer, attended_q) for layer in of_ca.question]).relu()
        c = torch.cat([convolve(layer, attended_c) for layer in of_ca.candidate]).relu()
        expected_ca.append(of_ca.classifier(torch.cat([q * c, q - c])))
    for each, values in ((model, expected), (of_ca, expected_ca)):
        torch.testing.assert_close(scores(each, ("a b", CANDIDATES)), torch.cat(values), atol=1e-5, rtol=1e-5)
