import numpy
import pytest
import torch
from datasets import Dataset

from as2lib import models
from as2lib.data.encode import load_encoder
from as2lib.data.words import WordEncoder
from as2lib.models.compare_aggregate import CompareAggregate, attend, unit_variance
from as2lib.models.cosinet import Cosinet
from as2lib.models.rank_rnn import RankRNN
from as2lib.ranker import Ranker
from as2lib.score import score

WORDS = "a b c d e f g h".split()
MODELS = {"cosinet": Cosinet, "ca": CompareAggregate}
RNNS = [(None, False), ("rnn", False), ("rnn", True), ("lstm", False), ("lstm", True)]
PUBLISHED = {"cosinet": [0.904201, 1.17, 1.12, 1.99, 1.81], "ca": [2.886601, 5.05, 4.87, 11.53, 10.81]}  # Table 4


def build(name="cosinet", rank_rnn=None, bidirectional=False, seed=0):
    torch.manual_seed(seed)
    vectors = torch.randn(len(WORDS), 6)
    return MODELS[name](vectors, hidden=4, rank_rnn=rank_rnn, bidirectional=bidirectional).eval()


def pairs(candidates, question="a b"):
    n = len(candidates)
    return Dataset.from_dict({"question_id": ["q"] * n, "question": [question] * n, "answer": candidates})


CANDIDATES = ["a c d", "e", "b b f g h", "h a", "c c c c"]


@pytest.mark.parametrize(("place", "shape"), list(enumerate(RNNS)))
@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_as_many_as_published(name, place, shape):
    model = MODELS[name](numpy.zeros((2, 300), numpy.float32), rank_rnn=shape[0], bidirectional=shape[1])
    found = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if shape[0] is None:
        assert found == round(1e6 * PUBLISHED[name][place])
    assert found / 1e6 == pytest.approx(PUBLISHED[name][place], rel=0.015)


def test_attention_is_a_softmax_over_the_words_of_the_other_text_alone():
    torch.manual_seed(0)
    said, asked = torch.randn(5, 3), torch.randn(3, 3)
    of_said, of_asked = attend(said, torch.tensor([2, 3]), asked, torch.tensor([1, 2]))
    torch.testing.assert_close(of_said[:2], asked[:1].expand(2, 3))  # one word: all the weight
    torch.testing.assert_close(of_said[2:], (said[2:] @ asked[1:].T).softmax(1) @ asked[1:])
    torch.testing.assert_close(of_asked[1:], (asked[1:] @ said[2:].T).softmax(1) @ said[2:])


def test_word_vectors_of_any_length_are_read_as_of_mean_square_one(root):
    found = unit_variance(torch.tensor([[3.0, 4.0], [0.0, 0.01], [0.0, 0.0]]))
    torch.testing.assert_close(found, torch.tensor([[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]]) * 2**0.5)
    model, encoder = build("ca"), WordEncoder(WORDS)
    before = score(model, pairs(CANDIDATES), encoder).logits
    model.vectors *= 0.25
    numpy.testing.assert_allclose(score(model, pairs(CANDIDATES), encoder).logits, before, atol=1e-6)


def test_cosinet_by_a_second_straightforward_computation(root):
    model, encoder = build(), WordEncoder(WORDS)
    batch = encoder.collate(list(encoder.encode(pairs(CANDIDATES))))
    found = model(**batch).logits[:, 1]
    vectors, expected = model.vectors.float(), []

    def convolve(layer, own, other):
        cosine = torch.nn.functional.cosine_similarity(own[:, None], other[None], dim=2).amax(1, keepdim=True)
        weight = torch.cat([layer.weight, layer.extra[:, :, None]], dim=2).permute(1, 2, 0)
        values = torch.nn.functional.conv1d(torch.cat([own, cosine], 1).T[None], weight, layer.bias, padding="same")
        return values[0].amax(dim=1).relu()

    for candidate in CANDIDATES:
        asked, said = (vectors[[WORDS.index(word) for word in text.split()]] for text in ("a b", candidate))
        q, c = convolve(model.question, asked, said), convolve(model.candidate, said, asked)
        expected.append(model.classifier(torch.cat([q * c, q - c])))
    torch.testing.assert_close(found, torch.cat(expected), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", RNNS)
def test_other_questions_of_a_batch_change_no_score(root, name, shape):
    model, encoder = build(name, *shape), WordEncoder(WORDS)
    alone = pairs(CANDIDATES)
    more = {"question_id": ["r"] * 2, "question": ["c d e f g"] * 2, "answer": ["d " * 9, "h"]}
    together = Dataset.from_dict({name: [*alone[name], *more[name]] for name in more})
    expected = score(model, alone, encoder).logits
    numpy.testing.assert_allclose(score(model, together, encoder).logits[:5], expected, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", RNNS)
def test_another_order_permutes_a_point_wise_models_scores_and_changes_a_rank_rnns(root, name, shape):
    model, encoder = build(name, *shape), WordEncoder(WORDS)
    order = [3, 0, 4, 2, 1]
    before = score(model, pairs(CANDIDATES), encoder).logits[order]
    after = score(model, pairs([CANDIDATES[i] for i in order]), encoder).logits
    gap = numpy.abs(before - after).max()
    assert gap < 1e-5 if shape[0] is None else gap > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_a_pair_scored_alone_or_with_its_question_has_one_score(root, name):
    model = build(name)
    one, whole = (score(model, pairs(CANDIDATES), WordEncoder(WORDS, unit)).logits for unit in ("pair", "question"))
    numpy.testing.assert_allclose(one, whole, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_ranks_as_before_also_words_it_has_never_seen(root, tmp_path, name):
    model, encoder = build(name, "rnn", True), WordEncoder(WORDS)
    model.save_pretrained(tmp_path)
    encoder.save(tmp_path)
    candidates = [*CANDIDATES, "zebra quagga a"]
    found = Ranker.load(tmp_path).rank("a b unheard", candidates)
    expected = score(model, pairs(candidates, "a b unheard"), encoder).score
    assert [one.position for one in found] == numpy.argsort(-expected, kind="stable").tolist()
    numpy.testing.assert_allclose(sorted(one.score for one in found), sorted(expected), atol=1e-6)
    assert models.load(tmp_path).config.rank_rnn == "rnn"
    assert load_encoder(tmp_path).unit == "question"


def test_the_vectors_are_saved_in_half_precision_and_are_no_parameters(tmp_path):
    model = build()
    model.save_pretrained(tmp_path)
    from safetensors.torch import load_file

    assert load_file(tmp_path / "model.safetensors")["vectors"].dtype == torch.float16
    assert "vectors" not in dict(model.named_parameters())


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_learns(root, name):
    model, encoder = build(name, "lstm", True), WordEncoder(WORDS)
    output = model(**encoder.collate(list(encoder.encode(pairs(CANDIDATES, "a b c d e f")))))
    output.logits[:, 1].pow(2).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_a_rank_rnn_reads_each_list_by_itself_and_as_torch_does():
    torch.manual_seed(0)
    layer, rows = RankRNN(3, 4, "lstm", bidirectional=True), torch.randn(5, 3)
    found = layer(rows, torch.tensor([2, 3]))
    for part, expected in ((slice(0, 2), rows[:2]), (slice(2, 5), rows[2:])):
        torch.testing.assert_close(found[part], layer.rnn(expected[None])[0][0])
    with pytest.raises(ValueError, match="rnn, lstm"):
        RankRNN(3, 4, "gru")
