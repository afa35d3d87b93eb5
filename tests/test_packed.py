import pytest
import torch
from torch import nn

from as2lib.kernels import packed
from as2lib.kernels.packed import packing
from as2lib.models.mhs import MHSForSequenceClassification
from as2lib.score import classifying_in_float32
from tests import encoders
from tests.encoders import batch


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch):
    monkeypatch.setattr(packed, "SMALLEST", 64 * 64)


def classifier(family, **changes):
    return encoders.classifier(family, hidden_size=64, intermediate_size=96, **{"initializer_range": 0.02, **changes})


def logits(model, precision="float32"):
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
        return model(input_ids=batch()["input_ids"]).logits


def inside(model, precision="float32"):
    with packing(model, precision):
        return logits(model, precision)


@pytest.mark.parametrize("family", ["electra", "bert", "roberta", "albert", "deberta-v2"])
@pytest.mark.parametrize("activation", ["gelu", "relu", "gelu_new"])
def test_logits_are_those_of_the_ordinary_forward(family, activation):
    model = classifier(family, hidden_act=activation)
    assert list(packed.products(model))
    assert (inside(model) - logits(model)).abs().max() < 1e-5
    assert not any("forward" in vars(module) for module in model.modules())


def test_a_students_heads_too():
    model = MHSForSequenceClassification.from_backbone(classifier("electra"), 2, 3, perturb=0.5).eval()
    assert len(list(packed.products(model))) > len(list(packed.products(classifier("electra"))))
    assert (inside(model) - logits(model)).abs().max() < 1e-5


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_bf16_logits_are_as_near_to_float32_as_the_ordinary_ones(activation):
    model = classifier("bert", hidden_act=activation)
    exact = logits(model)
    ordinary = (logits(model, "bf16") - exact).abs().max()
    assert 0 < (inside(model, "bf16") - exact).abs().max() < 2 * ordinary


def test_the_exact_gelu_is_part_of_the_product_and_no_other_activation_is():
    def after(activation):
        return [name for _, _, name in packed.products(classifier("bert", hidden_act=activation))]

    assert after("gelu").count("gelu") == 4
    assert set(after("gelu_new")) == set(after("relu")) == {"none"}
    assert len(after("gelu")) == len(after("relu"))  # its linear layer is not packed a second time


def test_what_runs_outside_autocast_stays_in_float32():
    model = classifier("electra")
    seen = []
    model.classifier.dense.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    with classifying_in_float32(model):
        inside(model, "bf16")
    assert seen == [torch.float32]


def test_small_layers_and_other_classes_are_left_alone():
    class Scaled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    assert [module for module, _, _ in packed.products(nn.Sequential(Scaled(80, 80), nn.Linear(8, 8)))] == []


def computes_plainly(model, precision="float32"):
    with packing(model, precision):
        return not any("forward" in vars(module) for module in model.modules())


@pytest.mark.parametrize("name", packed.PRIVATE)
def test_a_torch_without_one_of_its_private_operators_computes_plainly(monkeypatch, name):
    model = classifier("bert")
    assert not computes_plainly(model)
    monkeypatch.setattr(packed, "PRIVATE", [other if other != name else f"{name}_gone" for other in packed.PRIVATE])
    assert packed.operators(torch.float32) is None
    assert computes_plainly(model)
    assert torch.equal(inside(model), logits(model))


def test_a_processor_without_kernels_of_a_precision_computes_plainly(monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert computes_plainly(classifier("bert"), "bf16")
    assert not computes_plainly(classifier("bert"))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert computes_plainly(classifier("bert"))


def test_weights_that_changed_are_packed_anew():
    model = classifier("bert")
    before = inside(model)
    with torch.no_grad():
        model.bert.encoder.layer[0].output.dense.weight.mul_(3)
    assert (inside(model) - before).abs().max() > 1e-4
    assert (inside(model) - logits(model)).abs().max() < 1e-5
