import numpy
import pytest
import torch

from as2lib.models import cross_encoder, first_token
from tests.encoders import FAMILIES, batch, classifier, plain


@pytest.mark.parametrize("family", [*FAMILIES, "xlm-roberta"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_logits_are_those_of_the_plain_model(family, attention):
    if family in cross_encoder.OWN_ATTENTION:
        attention = "eager"
    model = classifier(family, attn_implementation=attention)
    with torch.no_grad():
        for inputs in (batch(), batch(padded=False), {"input_ids": batch(padded=False)["input_ids"]}):
            expected = plain(model)(**inputs).logits
            assert (model(**inputs).logits - expected).abs().max() < 1e-5
            assert expected.std(dim=0).min() > 5e-3  # the pairs differ


@pytest.mark.parametrize("family", first_token.FAMILIES)
def test_without_dropout_gradients_are_those_of_the_plain_model(family):
    none = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout_prob"), 0.0)
    model = classifier(family, **none, classifier_dropout=0.0).train()

    def gradients(model):
        model(**batch()).logits.square().sum().backward()
        return {name: weights.grad for name, weights in model.named_parameters()}

    expected, ours = gradients(plain(model)), gradients(model)
    largest = max(float(gradient.abs().max()) for gradient in expected.values())
    for name, gradient in expected.items():  # that of a key's bias is nothing but rounding
        unread = ours[name] is None and name.endswith(("key.bias", "attn.k.bias"))
        own = torch.zeros_like(gradient) if unread else ours[name]
        numpy.testing.assert_allclose(own, gradient, rtol=1e-3, atol=1e-5 * largest, err_msg=name)


@pytest.mark.parametrize("place", ["hidden", "attention_probs"])
def test_dropout_draws_from_the_same_distribution_as_in_the_plain_model(place):
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.0}
    model = classifier("bert", **{**rates, f"{place}_dropout_prob": 0.3}, num_hidden_layers=1).train()
    inputs = {name: values[:1].expand(4000, -1) for name, values in batch().items()}  # one pair, drawn for many times
    with torch.no_grad():
        expected, ours = plain(model)(**inputs).logits, model(**inputs).logits
    error = (expected.var(0) / 4000 + ours.var(0) / 4000).sqrt()
    assert ((expected.mean(0) - ours.mean(0)).abs() < 4 * error).all()
    assert (ours.std(0) / expected.std(0) - 1).abs().max() < 0.1
