import pytest
import torch
from transformers import AutoModelForSequenceClassification

from as2lib.metrics.replay import replay
from as2lib.models.cascade import CascadeTransformer
from tests.encoders import batch, classifier, plain

FAMILIES = ["electra", "bert", "roberta", "mpnet"]


def backbone(family="roberta", **changes):
    return classifier(family, num_hidden_layers=5, **changes)


def cascade(family="roberta", exits=(1, 2, 4, 5), **settings):
    return CascadeTransformer.from_backbone(backbone(family), exits, **settings)


def exit_scores(model, inputs):
    with torch.no_grad():
        logits = model(**inputs).exit_logits.double()
    return (logits[..., 1] - logits[..., 0]).sigmoid()  # (b, e)


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
    assert torch.equal(model.rank(batch(13), [0.5, 0.0, 0.25]).scores, ranking.scores)
    assert model.training


def test_the_final_logits_are_the_last_exits_and_one_exit_can_be_had_alone():
    model = cascade()
    with torch.no_grad():
        every = model(**batch(13))
        torch.testing.assert_close(every.logits, every.exit_logits[:, -1], atol=0, rtol=0)
        for number in range(4):
            alone = model(**batch(13), only_exit=number)
            assert alone.exit_logits is None
            torch.testing.assert_close(alone.logits, every.exit_logits[:, number], atol=0, rtol=0)


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


@pytest.mark.parametrize(("family", "batch_tokens"), [("roberta", None), ("mpnet", 24)])
def test_questions_in_one_batch_rank_as_one_at_a_time_and_as_the_replay_of_stored_scores_does(family, batch_tokens):
    model, inputs, shapes = cascade(family), batch(20), []
    question = torch.tensor([7, 7, 3, 7, 3, 9, 3, 3, 9, 7, 7, 7, 3, 3, 3, 3, 7, 7, 3, 3])
    first_layer = model.encoder.encoder.layer[0]
    hook = first_layer.register_forward_hook(lambda _, inputs, output: shapes.append(inputs[0].shape[:2]))
    rankings = model.rank(inputs, 0.4, question, batch_tokens)
    hook.remove()
    assert sum(rows for rows, _ in shapes) == 20
    assert batch_tokens is None or all(rows * tokens <= batch_tokens for rows, tokens in shapes)
    every = exit_scores(model, inputs)
    replayed = replay(question, torch.zeros(20), every.numpy(), 0.4)
    for name, ranking in zip((7, 3, 9), rankings, strict=True):
        rows = torch.arange(20)[question == name]
        assert replayed.position[rows][ranking.order].tolist() == list(range(len(rows)))
        torch.testing.assert_close(ranking.stage_scores, every[rows, ranking.stages], atol=1e-6, rtol=0)
        alone = model.rank({key: values[question == name] for key, values in inputs.items()}, 0.4)
        assert torch.equal(ranking.order, alone.order)
        assert torch.equal(ranking.stages, alone.stages)
        torch.testing.assert_close(ranking.scores, alone.scores, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cascade_that_drops_nothing_scores_as_its_last_exit_and_its_folder_too(family, tmp_path):
    model, inputs = cascade(family), batch(13)
    model.save_pretrained(tmp_path)
    for same in (model, AutoModelForSequenceClassification.from_pretrained(tmp_path)):
        scores = same.rank(inputs, 0.0, batch_tokens=24).scores
        torch.testing.assert_close(scores, exit_scores(model, inputs)[:, -1], atol=1e-6, rtol=0)


def test_the_loss_is_the_sum_of_the_exits_cross_entropies():
    model, labels = cascade(), torch.tensor([0, 1] * 6 + [1])
    output = model(**batch(13), labels=labels)
    entropy = -output.exit_logits.log_softmax(-1)[torch.arange(13), :, labels]  # (b, e)
    torch.testing.assert_close(output.loss, entropy.mean(0).sum())
    torch.testing.assert_close(model(**batch(13), labels=labels, only_exit=1).loss, entropy.mean(0)[1])
