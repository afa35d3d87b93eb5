import numpy
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from as2lib import models
from as2lib.data.encode import PairEncoder, word_tokenizer
from as2lib.losses.distillation import cross_entropy
from as2lib.metrics.cascade import replay
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.models.mhs_cascade import MHSCascade
from as2lib.papers.frontier import exits
from as2lib.ranker import Ranker
from tests.encoders import batch, classifier

FAMILIES = ["electra", "bert", "roberta"]


def student(family="electra", heads=3):
    return MHSForSequenceClassification.from_backbone(classifier(family), 2, heads, perturb=0.5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("behind", [[1], [2], [1, 2]])
def test_exits_change_nothing_of_the_student_and_read_the_mean_of_real_tokens(family, behind):
    plain = student(family)
    cascade = MHSCascade.from_student(plain, behind)
    for inputs in (batch(), {name: values[:2] for name, values in batch().items()}):
        with torch.no_grad():
            expected, found = plain(**inputs), cascade(**inputs)
            hidden = plain.body(**inputs, output_hidden_states=True).hidden_states
            real = inputs["attention_mask"].unsqueeze(-1)
            means = [(hidden[n] * real).sum(1) / real.sum(1) for n in behind]
            by_hand = [each.classifier(mean) for each, mean in zip(cascade.exits, means, strict=True)]
        torch.testing.assert_close(found.logits, expected.logits, atol=1e-5, rtol=0)
        torch.testing.assert_close(found.head_logits, expected.head_logits, atol=1e-5, rtol=0)
        torch.testing.assert_close(found.exit_logits, torch.stack(by_hand, dim=1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("alpha", [0.0, 0.4, [0.5, 0.0]])
def test_it_ranks_as_its_stored_scores_say(alpha):
    cascade, inputs, question = exits.model(student()).eval(), batch(9), torch.tensor([0] * 5 + [1] * 4)
    with torch.no_grad():
        found = cascade(**inputs)
    margin = torch.cat([found.exit_logits, found.logits[:, None]], dim=1).diff(dim=-1)[..., 0].double()
    expected = replay(question, margin.sigmoid().numpy(), alpha)
    for ranking, own in zip(cascade.rank(inputs, alpha, question), (slice(0, 5), slice(5, 9)), strict=True):
        assert ranking.order.tolist() == numpy.argsort(expected.position[own]).tolist()
        last = torch.from_numpy(expected.last[own])
        assert ranking.survivors == tuple(int((last >= stage).sum()) for stage in range(3))
        seen = margin[own].gather(1, last[:, None])[:, 0].sigmoid()
        torch.testing.assert_close(ranking.scores, seen, atol=1e-6, rtol=0)
    alone = cascade.rank({name: values[:5] for name, values in inputs.items()}, alpha)
    assert alone.order.tolist() == numpy.argsort(expected.position[:5]).tolist()


def test_ranking_leaves_a_model_that_trains_in_training():
    cascade = exits.model(student()).train()
    cascade.rank(batch(), 0.3)
    assert cascade.training
    assert cascade.heads[0].training


@pytest.mark.parametrize("load", [models.load, AutoModelForSequenceClassification.from_pretrained])
def test_a_saved_one_comes_back_whole(load, tmp_path):
    cascade = MHSCascade.from_student(student(), [2])
    cascade.save_pretrained(tmp_path)
    again = load(tmp_path).eval()
    assert (type(again), again.config.exits) == (MHSCascade, [2])
    for name, weights in cascade.state_dict().items():
        assert torch.equal(again.state_dict()[name], weights)


def test_new_exits_start_with_glorots_weights_and_the_students_stay():
    plain, cascade = student(), exits.model(student())
    for name, weights in plain.state_dict().items():
        assert torch.equal(cascade.state_dict()[name], weights)
    bound = (6 / (32 + 32)) ** 0.5
    first = cascade.exits[0].classifier[1].weight
    assert bound * 0.9 < first.abs().max() <= bound


@pytest.mark.parametrize("behind", [[], [2, 1], [0], [3], [1, 1]])
def test_exits_that_no_body_has_are_refused(behind):
    with pytest.raises(ValueError, match=r"exits: expected increasing layers, 1 to 2"):
        MHSCascade.from_student(student(), behind)


def test_a_body_whose_layers_are_one_is_refused():
    with pytest.raises(ValueError, match="expected one of electra, bert, roberta, got albert"):
        MHSCascade.from_student(student("albert"), [1])


def test_its_loss_is_a_hard_one_for_every_head_and_for_every_exit():
    cascade = exits.model(student())
    labels, output = torch.tensor([0, 1, 0, 0, 1, 0]), cascade(**batch())
    found = exits.loss(output, {"labels": labels})
    hard = [cross_entropy(output.exit_logits[:, i], labels).total for i in range(2)]
    heads = [cross_entropy(output.head_logits[:, i], labels).total for i in range(3)]
    torch.testing.assert_close(found.total, sum(heads) + sum(hard))
    torch.testing.assert_close(found.heads, torch.stack(heads))
    torch.testing.assert_close(found.exits, torch.stack(hard))
    found.total.backward()
    for part in (*cascade.exits, *cascade.heads, cascade.body.embeddings):
        assert any(weights.grad is not None and weights.grad.abs().max() > 0 for weights in part.parameters())


def test_a_ranker_drops_candidates_at_its_exits(tmp_path):
    texts = ["who wrote it", "she wrote it in one year", "it rains", "nobody knows who", "a year of rain"]
    tokenizer = word_tokenizer(texts, 24)
    cascade = exits.model(MHSForSequenceClassification.from_backbone(classifier(vocab_size=len(tokenizer)), 2, 3))
    ranked = Ranker(cascade, PairEncoder(tokenizer, 24), alpha=0.5).rank(texts[0], texts[1:])
    assert [sorted(one.parts) for one in ranked].count(["exit_1"]) == 2  # two of four fall at once
    every = Ranker(cascade, PairEncoder(tokenizer, 24)).rank(texts[0], texts[1:])
    assert all({"exit_1", "exit_2", "head_0", "head_2"} <= set(one.parts) for one in every)
