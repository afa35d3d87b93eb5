import json
from math import sqrt

import numpy
import pytest
import torch
from torch import nn

from as2lib.kernels import training
from as2lib.kernels.training import PLAIN, Masks, training_kernels
from as2lib.models.cascade import CascadeTransformer
from as2lib.models.mhs import MHSForSequenceClassification
from tests import encoders
from tests.encoders import batch

FAMILIES = ("bert", "electra", "roberta", "albert")
RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "classifier_dropout_prob")


def classifier(family, rate=0.0):
    return encoders.classifier(family, num_hidden_layers=3, **dict.fromkeys(RATES, rate)).train()


def trained(model, kernels, inputs=None, step=0):
    """Logits and gradients of one step."""
    inputs = inputs or batch()
    model.zero_grad()

    def run():
        logits = model(**inputs).logits
        logits.square().sum().backward()
        return logits.detach(), {name: weights.grad for name, weights in model.named_parameters()}

    if not kernels:
        return run()
    with training_kernels(model, seed=3) as masks:
        masks.begin(step)
        return run()


def models(rate=0.0):
    for family in FAMILIES:
        yield family, classifier(family, rate)
        student = MHSForSequenceClassification.from_backbone(classifier(family, rate), 2, 3, perturb=0.5)
        yield f"{family} student", student
        if family != "albert":
            yield f"{family} cascade", CascadeTransformer.from_backbone(classifier(family, rate), [1, 3]).train()


def assert_same_step(name, model, inputs=None):
    (logits, gradients), (fast, found) = trained(model, False, inputs), trained(model, True, inputs)
    assert logits.std(dim=0).min() > 1e-3  # the pairs differ
    numpy.testing.assert_allclose(fast, logits, atol=1e-5, err_msg=name)
    largest = max(float(gradient.abs().max()) for gradient in gradients.values() if gradient is not None)
    for weights, gradient in gradients.items():
        if gradient is not None:
            numpy.testing.assert_allclose(found[weights], gradient, rtol=1e-3, atol=1e-5 * largest, err_msg=weights)


@pytest.mark.parametrize(("name", "model"), [pytest.param(*pair, id=pair[0]) for pair in models()])
@pytest.mark.parametrize("below", [0, 99], ids=["fused", "plain"])
def test_without_dropout_logits_and_gradients_are_the_ordinary_ones(name, model, below, monkeypatch):
    monkeypatch.setitem(training.PLAIN_BELOW, torch.float32, below)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    assert_same_step(name, model)


def test_unpadded_inputs_give_the_ordinary_gradients(monkeypatch):
    monkeypatch.setitem(training.PLAIN_BELOW, torch.float32, 99)
    assert_same_step("no mask", classifier("bert"), {"input_ids": batch()["input_ids"]})


@pytest.mark.parametrize("family", FAMILIES)
def test_in_evaluation_nothing_is_dropped(family):
    model = classifier(family, 0.5).eval()
    with torch.no_grad():
        ordinary = model(**batch()).logits
        with training_kernels(model, 0):
            torch.testing.assert_close(model(**batch()).logits, ordinary)


@pytest.mark.parametrize("p", [0.05, 0.1, 0.3, 0.5])
def test_the_share_that_is_dropped_is_p(p):
    count = 4_000_000
    dropped = 1 - Masks(0).keep(torch.Size([4, 1000, 1000]), p).double().mean().item()
    assert abs(dropped - p) < 1e-5 + 5 * sqrt(p * (1 - p) / count)


def test_a_p_of_zero_and_of_one_are_exact():
    values, drop = torch.randn(5, 7), Masks(0).drop
    assert drop(nn.Dropout(0.0), values) is values
    assert drop(nn.Dropout(0.9).eval(), values) is values
    assert not drop(nn.Dropout(1.0), values).any()


def test_masks_of_neighbours_places_steps_and_seeds_are_independent():
    def drawn(seed, step, place):
        masks = Masks(seed)
        masks.begin(step)
        for _ in range(place):
            masks.keep(torch.Size([3, 5]), 0.1)  # of a size that fills no whole word
        return masks.keep(torch.Size([400_000]), 0.1).numpy().astype(float) - 0.9

    first = drawn(0, 0, 0)
    others = [drawn(*key) for key in ((0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1))]
    pairs = [(first[:-lag], first[lag:]) for lag in range(1, 9)] + [(first, other) for other in others]
    for a, b in pairs:
        assert abs(numpy.corrcoef(a, b)[0, 1]) < 5 / sqrt(len(a))


def test_masks_are_a_pure_function_of_seed_step_and_place_at_any_number_of_threads():
    shape, found = torch.Size([64, 129]), []
    threads = torch.get_num_threads()
    for count, history in ((1, range(3)), (2, [7]), (4, [])):
        torch.set_num_threads(count)
        torch.manual_seed(count)  # torch's own generator plays no part
        masks = Masks(5)
        for step in history:
            masks.begin(step)
            masks.keep(shape, 0.5)
        masks.begin(4)
        found.append((masks.keep(shape, 0.3), masks.keep(shape, 0.3)))
    torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for later in found[1:] for a, b in zip(found[0], later, strict=True))
    assert not torch.equal(*found[0])


def test_a_step_drops_hidden_values_and_shares_and_another_step_others():
    for rate in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
        model = classifier("bert")
        for name, module in model.named_modules():
            if isinstance(module, nn.Dropout) and name.endswith("self.dropout") == rate.startswith("attention"):
                module.p = 0.3
        (first, _), (again, _), (other, _) = (trained(model, True, step=step) for step in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_have_the_distribution_of_the_ordinary_dropout(family):
    model = classifier(family, 0.2)
    inputs = {name: values[2:3].expand(4000, -1) for name, values in batch().items()}  # one padded pair, many draws
    torch.manual_seed(0)
    with torch.no_grad():
        ordinary = model(**inputs).logits
        with training_kernels(model, 0):
            fast = model(**inputs).logits
    error = (ordinary.var(0) / 4000 + fast.var(0) / 4000).sqrt()
    assert ((ordinary.mean(0) - fast.mean(0)).abs() < 4 * error).all()
    assert (fast.std(0) / ordinary.std(0) - 1).abs().max() < 0.1


def untouched(model):
    forwards = any("forward" in vars(module) for module in model.modules())
    configs = {module.config._attn_implementation for module in model.modules() if hasattr(module, "config")}
    return not forwards and PLAIN not in configs


@pytest.mark.parametrize(("name", "model"), [pytest.param(*pair, id=pair[0]) for pair in models(0.1)])
def test_afterwards_the_model_is_as_it_was_also_after_an_error(name, model):
    with training_kernels(model, 0), training_kernels(model, 1):
        assert not untouched(model)
    assert untouched(model)
    with pytest.raises(IndexError), training_kernels(model, 0):
        model(torch.full((1, 3), 99))
    assert untouched(model)


def test_a_model_saved_inside_is_an_ordinary_folder(tmp_path):
    model = classifier("electra")
    with training_kernels(model, 0):
        model.save_pretrained(tmp_path)
    assert PLAIN not in json.dumps(json.loads((tmp_path / "config.json").read_text()))


def test_under_bf16_a_step_is_as_near_to_float32_as_the_ordinary_one():
    model = classifier("bert")
    exact, _ = trained(model, False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (ordinary, _), (fast, _) = trained(model, False), trained(model, True)
    assert (fast - exact).abs().max() < 2 * (ordinary - exact).abs().max() + 1e-2
