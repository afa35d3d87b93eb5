import numpy
import pytest
import torch
from scipy.special import logit

from as2lib.metrics import pruning
from as2lib.metrics.pruning import replay
from as2lib.models.cascade import CascadeTransformer, rankings
from as2lib.score import probability
from tests.encoders import batch, classifier, plain

FAMILIES = ["electra", "bert", "roberta", "mpnet"]


def backbone(family="roberta", **changes):
    return classifier(family, num_hidden_layers=5, **changes)


def cascade(family="roberta", exits=(1, 2, 4, 5), **settings):
    return CascadeTransformer.from_backbone(backbone(family), exits, **settings)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_an_exit_reads_the_mean_of_the_real_tokens_of_its_layer_or_the_first_of_them(family, pooling):
    whole = backbone(family)
    model = CascadeTransformer.from_backbone(whole, (2, 5), pooling=pooling)
    inputs = batch(13)
    with torch.no_grad():
        hidden = plain(whole).base_model(**inputs, output_hidden_states=True).hidden_states
        for number, layer in enumerate((2, 5)):
            for row in (1, 2):
                real = hidden[layer][row][inputs["attention_mask"][row] == 1]  # (n, d)
                token = real.mean(0) if pooling == "mean" else real[0]
                first, second, last = (m for m in model.exits[number].classifier if isinstance(m, torch.nn.Linear))
                expected = last(second(first(token).tanh()).tanh())
                torch.testing.assert_close(model(**inputs).exit_logits[row, number], expected, atol=1e-5, rtol=1e-5)


def test_only_the_survivors_enter_the_next_layers_and_dropout_is_off():
    model, rows = CascadeTransformer.from_backbone(backbone(hidden_dropout_prob=0.5), (1, 2, 4, 5)).train(), {}
    for number, layer in enumerate(model.encoder.encoder.layer):
        layer.register_forward_hook(lambda _, inputs, output, number=number: rows.update({number: len(inputs[0])}))
    ranking = model.rank(batch(13), [0.5, 0.0, 0.25])
    assert rows == {0: 13, 1: 7, 2: 7, 3: 7, 4: 6}
    begins = model.exits[0].classifier[-1].weight  # as Glorot has it
    assert 0.8 < begins.abs().max() / (6 / sum(begins.shape)) ** 0.5 <= 1
    assert torch.equal(model.rank(batch(13), [0.5, 0.0, 0.25]).scores, ranking.scores)


def gradient(model, number):
    """Which of embeddings, layers and exits a loss at one exit reaches."""
    model.zero_grad()
    model(**batch(13), only_exit=number).logits.sum().backward()
    parts = [model.encoder.embeddings, *model.encoder.encoder.layer, *model.exits]
    return [any(p.grad is not None and bool(p.grad.any()) for p in part.parameters()) for part in parts]


def test_an_exits_gradient_flows_down_to_the_embeddings_or_to_the_previous_exit_and_not_up():
    #                                       embeddings, layers 1-5,                        exits at 1, 2, 4, 5
    assert gradient(cascade(), 2) == [True, True, True, True, True, False, False, False, True, False]
    model = cascade(stop_gradient=True)
    assert gradient(model, 2) == [False, False, False, True, True, False, False, False, True, False]
    assert gradient(model, 0) == [True, True, False, False, False, False, True, False, False, False]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("batch_tokens", [None, 24])
def test_questions_in_one_batch_rank_as_one_at_a_time_and_as_the_replay_of_stored_scores_does(family, batch_tokens):
    model, inputs, shapes = cascade(family), batch(20), []
    question = torch.tensor([7, 7, 3, 7, 3, 9, 3, 3, 9, 7, 7, 7, 3, 3, 3, 3, 7, 7, 3, 3])
    first_layer = model.encoder.encoder.layer[0]
    hook = first_layer.register_forward_hook(lambda _, inputs, output: shapes.append(inputs[0].shape[:2]))
    rankings = model.rank(inputs, 0.4, question, batch_tokens)
    hook.remove()
    assert sum(rows for rows, _ in shapes) == 20
    assert batch_tokens is None or all(rows * tokens <= batch_tokens for rows, tokens in shapes)
    every = torch.from_numpy(probability(model(**inputs).exit_logits.detach().numpy()))  # (b, e)
    position, stage_of = replay(question, torch.zeros(20), every.numpy(), 0.4)
    for name, ranking in zip((7, 3, 9), rankings, strict=True):
        rows = torch.arange(20)[question == name]
        assert position[rows][ranking.order].tolist() == list(range(len(rows)))
        assert ranking.stages.tolist() == stage_of[rows].tolist()
        assert (ranking.scores[ranking.order].diff() < 0).all()
        torch.testing.assert_close(ranking.stage_scores, every[rows, ranking.stages], atol=1e-6, rtol=0)
        alone = model.rank({key: values[question == name] for key, values in inputs.items()}, 0.4)
        assert torch.equal(ranking.order, alone.order)
        assert torch.equal(ranking.stages, alone.stages)
        torch.testing.assert_close(ranking.scores, alone.scores, atol=1e-6, rtol=0)


def test_the_loss_is_the_sum_of_the_exits_cross_entropies_and_one_exit_can_be_had_alone():
    model, labels = cascade(), torch.tensor([0, 1] * 6 + [1])
    every = model(**batch(13), labels=labels)
    entropy = -every.exit_logits.log_softmax(-1)[torch.arange(13), :, labels]  # (b, e)
    torch.testing.assert_close(every.loss, entropy.mean(0).sum())
    assert torch.equal(every.logits, every.exit_logits[:, -1])
    for number in range(4):
        alone = model(**batch(13), labels=labels, only_exit=number)
        assert torch.equal(alone.logits, every.exit_logits[:, number])
        torch.testing.assert_close(alone.loss, entropy.mean(0)[number])


def ranked(columns, alpha):
    """One question's ranking, in a list, by stages that each read a column of log odds."""
    columns, question = numpy.array(columns, dtype=float), numpy.zeros(len(columns[0]), int)
    return rankings(pruning.prune(lambda stage, rows: columns[stage][rows], len(columns), question, alpha), question)


def test_the_rule_worked_by_hand_where_those_dropped_later_stand_before_those_dropped_earlier():
    cheap, dear = [0.9, 0.1, 0.5, 0.7, 0.3], [0.2, 0.99, 0.8, 0.6, 0.95]
    [ranking] = ranked([cheap, dear], 0.4)  # drops floor(0.4 · 5) = 2: candidates 4 and 1
    assert ranking.order.tolist() == [2, 3, 0, 4, 1]
    assert logit(ranking.stage_scores.numpy()).tolist() == pytest.approx([0.2, 0.1, 0.8, 0.6, 0.3])
    assert ranking.stages.tolist() == [1, 0, 1, 1, 0]
    # 0.2 is the lowest that was kept: 0.3 and 0.1, which fell before, go 0.1 down together, and the gap
    assert ranking.log_odds.tolist() == pytest.approx([0.2, -1e-6, 0.8, 0.6, 0.2 - 1e-6], abs=1e-12)
    [ranking] = ranked([[4, 3, 2, 1], [1, 2, 9, 9], [5, 5, 5, 5]], [0.25, 0.4])
    assert ranking.order.tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("size", [1, 7, 13, 130])
def test_equal_logits_are_equal_probabilities_wherever_they_stand_and_none_rises(size):
    draw = numpy.random.default_rng(size)
    for _ in range(50):
        odds = draw.normal()
        [equal] = ranked([[odds] * size], 0.0)
        assert len(set(equal.scores.tolist())) == 1
        [near] = ranked([odds + numpy.spacing(odds) * draw.integers(0, 4, size)], 0.0)
        assert (near.scores[near.order].diff() <= 0).all()
