import numpy
import pytest
import torch

from as2lib.kernels import replacing
from as2lib.kernels.first_token import reading_first_token
from as2lib.models.first_token import first_token
from as2lib.models.mhs import MHSForSequenceClassification
from tests.encoders import FAMILIES, batch, classifier

FAST = FAMILIES[:3]


def student(family, body, **changes):
    return MHSForSequenceClassification.from_backbone(classifier(family, **changes), body, 3, perturb=0.5)


def reading(model, fast):
    """First-token last layers: a student has them, a classifier gets them; or those that compute every token."""
    if fast:
        return reading_first_token(model)
    return replacing({head: head.reading_all for head in getattr(model, "heads", ())})


def last_layers(model):
    encoders = [head.encoder for head in getattr(model, "heads", ())] or [model.base_model.encoder]
    return [encoder.layer[-1] for encoder in encoders]


def logits(model, inputs, fast):
    with torch.inference_mode(), reading(model, fast):
        return model(**inputs).logits


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("inputs", [batch(), batch(padded=False), {"input_ids": batch(padded=False)["input_ids"]}])
@pytest.mark.parametrize("body", [None, 3, 2], ids=["classifier", "mhs-3h1", "mhs-3h2"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_logits_are_those_of_the_ordinary_forward(family, inputs, body, attention):
    if family == "deberta-v2":
        attention = "eager"  # its own
    changes = {"attn_implementation": attention}
    model = classifier(family, **changes) if body is None else student(family, body, **changes)
    ordinary = logits(model, inputs, fast=False)
    assert (logits(model, inputs, fast=True) - ordinary).abs().max() < 1e-5
    assert ordinary.std(dim=0).min() > 5e-3  # the pairs differ


@pytest.mark.parametrize("family", FAST)
def test_a_student_is_fast_as_a_user_calls_it_also_with_a_mask_of_flash_attention(family):
    model, mask = student(family, 2), batch()["attention_mask"]
    seen = []
    for layer in last_layers(model):
        layer.intermediate.register_forward_hook(lambda module, inputs, output: seen.append(tuple(output.shape)))
    exact = logits(model, batch(), fast=False)
    seen.clear()
    assert (model(**batch()).logits - exact).abs().max() < 1e-5
    assert seen == [(6, 1, 48)] * 3
    hidden = torch.randn(6, 11, 32, generator=torch.Generator().manual_seed(0))
    ours = first_token(last_layers(model)[0], hidden, mask)
    assert (ours - first_token(last_layers(model)[0], hidden, mask[:, None, None].bool())).abs().max() == 0


@pytest.mark.parametrize("family", FAST)
@pytest.mark.parametrize("body", [None, 2])
def test_the_feed_forward_of_the_last_layer_sees_one_token_and_the_model_is_as_it_was_afterwards(family, body):
    model = classifier(family) if body is None else student(family, body)
    seen = []
    for layer in last_layers(model):
        layer.intermediate.register_forward_hook(lambda module, inputs, output: seen.append(tuple(output.shape)))
    logits(model, batch(), fast=True)
    assert seen == [(6, 1, 48)] * (1 if body is None else 3)
    seen.clear()
    logits(model, batch(), fast=False)
    assert set(seen) == {(6, 11, 48)}
    assert not any("forward" in vars(module) for module in model.modules())


@pytest.mark.parametrize("family", FAST)
def test_under_bf16_logits_are_as_near_to_float32_as_the_ordinary_ones(family):
    model = student(family, 3)
    exact = logits(model, batch(), fast=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ordinary, fast = (logits(model, batch(), fast) for fast in (False, True))
    assert (fast - exact).abs().max() < 2 * (ordinary - exact).abs().max() + 1e-2


@pytest.mark.parametrize("family", FAST)
@pytest.mark.parametrize("body", [None, 2])
def test_without_dropout_gradients_in_training_are_the_ordinary_ones(family, body):
    none = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"), 0.0)
    model = (classifier(family, **none) if body is None else student(family, body, **none)).train()

    def gradients():
        model.zero_grad()
        model(**batch()).logits.square().sum().backward()
        return {name: weights.grad for name, weights in model.named_parameters()}

    with reading(model, False):
        ordinary = gradients()
    with reading(model, True):
        fast = gradients()
    largest = max(float(gradient.abs().max()) for gradient in ordinary.values())
    for name, gradient in ordinary.items():  # that of a key's bias is nothing but rounding
        found = torch.zeros_like(gradient) if fast[name] is None and "key.bias" in name else fast[name]
        numpy.testing.assert_allclose(found, gradient, rtol=1e-3, atol=1e-5 * largest, err_msg=name)


@pytest.mark.parametrize("place", ["hidden", "attention_probs"])
def test_dropout_draws_from_the_same_distribution_as_in_the_ordinary_forward(place):
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
    model = classifier("bert", **{**rates, f"{place}_dropout_prob": 0.3}, num_hidden_layers=1).train()
    inputs = {name: values[:1].expand(4000, -1) for name, values in batch().items()}  # one pair, drawn for many times

    ordinary, fast = (logits(model, inputs, fast) for fast in (False, True))
    error = (ordinary.var(0) / 4000 + fast.var(0) / 4000).sqrt()
    assert ((ordinary.mean(0) - fast.mean(0)).abs() < 4 * error).all()
    assert (fast.std(0) / ordinary.std(0) - 1).abs().max() < 0.1


class ReadsTheMean(type(classifier("bert"))):
    """A classifier of its own kind: nothing is known of which tokens it reads."""


def test_a_model_of_another_class_is_left_alone():
    model = ReadsTheMean(classifier("bert").config)
    with reading_first_token(model):
        assert not any("forward" in vars(module) for module in model.modules())
