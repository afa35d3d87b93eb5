import pytest
import torch
from transformers import AutoModelForSequenceClassification

from as2lib.models import cross_encoder
from as2lib.models.mhs import MHSForSequenceClassification
from tests.encoders import FAMILIES, batch
from tests.encoders import classifier as backbone


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("body", "heads"), [(3, 3), (1, 2)])
@pytest.mark.parametrize("how", ["probability", "logit"])
def test_equal_heads_give_the_backbones_scores(family, body, heads, how):
    whole = backbone(family)
    student = MHSForSequenceClassification.from_backbone(whole, body, heads, how)
    padded, unpadded, maskless = (
        batch(),
        {n: v[:2] for n, v in batch().items()},
        {"input_ids": batch()["input_ids"][:2]},
    )
    for inputs in (padded, unpadded, maskless):
        with torch.no_grad():
            expected, found = whole(**inputs).logits, student(**inputs)
        assert found.head_logits.shape == (len(inputs["input_ids"]), heads, 2)
        torch.testing.assert_close(found.logits.softmax(-1), expected.softmax(-1), atol=1e-6, rtol=0)
        for head in range(heads):
            assert torch.equal(found.head_logits[:, head], expected)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("type_vocab_size", [2, 1])
def test_token_types_reach_the_body(family, type_vocab_size):
    whole = backbone(family, type_vocab_size=type_vocab_size)
    inputs = batch() | {"token_type_ids": (torch.arange(11) > 5).long().expand(6, 11) * (type_vocab_size - 1)}
    with torch.no_grad():
        found = MHSForSequenceClassification.from_backbone(whole, 2, 2)(**inputs).head_logits[:, 1]
        assert torch.equal(found, whole(**inputs).logits)
        assert torch.equal(found, whole(**batch()).logits) == (type_vocab_size == 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_student_comes_back_with_its_scores(family, tmp_path):
    student = MHSForSequenceClassification.from_backbone(backbone(family), 2, 3)
    for head in student.heads:  # heads that differ, so that a mix-up would show
        torch.nn.init.normal_(head.classifier.parameters().__next__())
    student.save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    for load in (MHSForSequenceClassification.from_pretrained, AutoModelForSequenceClassification.from_pretrained):
        with torch.no_grad():
            torch.testing.assert_close(load(tmp_path).eval()(**batch()).logits, student(**batch()).logits)


def test_every_tensor_of_a_student_keeps_the_name_that_saved_models_have():
    bert = set(MHSForSequenceClassification.from_backbone(backbone("bert"), 3, 2).state_dict())
    assert {"body.embeddings.LayerNorm.weight", "body.encoder.layer.2.output.dense.bias"} < bert
    assert {"heads.1.encoder.layer.0.output.dense.bias", "heads.1.pooler.dense.weight"} < bert
    assert {"heads.0.classifier.weight", "heads.0.classifier.bias"} < bert
    assert not any(name.startswith(("body.pooler", "heads.0.dropout")) for name in bert)
    electra = set(MHSForSequenceClassification.from_backbone(backbone(), 3, 1).state_dict())
    assert {"body.embeddings_project.weight", "heads.0.classifier.out_proj.weight"} < electra


@pytest.mark.parametrize("family", FAMILIES)
def test_the_body_learns_from_all_heads_and_a_head_only_from_its_own_loss(family):
    student = MHSForSequenceClassification.from_backbone(backbone(family), 3, 2)
    student(**batch()).head_logits[:, 0].square().sum().backward()

    def learns(module):
        return {name for name, weights in module.named_parameters() if weights.grad is not None and weights.grad.any()}

    not_first = {name for name, _ in student.heads[0].named_parameters()} - learns(student.heads[0])
    assert not {name for name in not_first if not name.endswith("key.bias")}  # which softmax cancels
    assert not learns(student.heads[1])
    assert any(name.startswith("embeddings.") for name in learns(student.body))
    assert any(name.startswith("encoder.") for name in learns(student.body))


def test_a_perturbation_tells_heads_apart_and_its_seed_repeats_it():
    def student(**options):
        return MHSForSequenceClassification.from_backbone(backbone(), 3, **options).state_dict()

    equal, first, again, other = (
        student(heads=3, **options)
        for options in ({}, {"perturb": 0.1, "seed": 4}, {"perturb": 0.1, "seed": 4}, {"perturb": 0.1, "seed": 5})
    )
    assert all(torch.equal(equal[name], value) for name, value in student(heads=3, perturb=0.0, seed=9).items())
    for name in equal:
        assert torch.equal(first[name], again[name])
        if name.startswith("body."):
            assert torch.equal(first[name], equal[name])
    weights = [f"heads.{head}.encoder.layer.0.intermediate.dense.weight" for head in range(3)]
    for i, name in enumerate(weights):
        noise = (first[name] - equal[name]) / equal[name].std()
        assert noise.std() == pytest.approx(0.1, rel=0.1)
        assert not torch.equal(first[name], other[name])
        assert not torch.equal(first[name], first[weights[i - 1]])
    fewer = student(heads=2, perturb=0.1, seed=4)
    assert all(torch.equal(first[name], value) for name, value in fewer.items())


def test_the_loss_is_the_sum_of_the_heads_cross_entropies_and_an_unknown_input_is_an_error():
    student = MHSForSequenceClassification.from_backbone(backbone(), 3, 3, perturb=0.5)
    labels = torch.tensor([0, 1, 1, 0, 0, 1])
    output = student(**batch(), labels=labels)
    entropy = -output.head_logits.log_softmax(-1)[torch.arange(6), :, labels]  # (b, k)
    torch.testing.assert_close(output.loss, entropy.mean(0).sum())
    assert student(**batch()).loss is None
    with pytest.raises(TypeError, match="label"):
        student(**batch(), label=labels)


def test_under_bf16_every_heads_classifier_computes_in_float32():
    student = MHSForSequenceClassification.from_backbone(backbone(), 3, 2, perturb=0.5)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert student(**batch()).head_logits.dtype == torch.float32


def test_a_student_of_a_half_precision_backbone_is_in_float32(tmp_path):
    whole = backbone("bert").half()
    whole.save_pretrained(tmp_path)
    student = MHSForSequenceClassification.from_backbone(tmp_path, 3, 2)
    assert {weights.dtype for weights in student.parameters()} == {torch.float32}
    of_half = MHSForSequenceClassification.from_backbone(whole, 3, 2)
    assert {weights.dtype for weights in of_half.parameters()} == {torch.float32}


@pytest.mark.parametrize("heads", [1, 3, 5])
def test_an_albert_has_its_layer_once_in_the_body_and_once_a_head(heads):
    def count(module):
        return sum(parameter.numel() for parameter in module.parameters())

    whole = backbone("albert")
    head = count(whole.albert.encoder.albert_layer_groups) + count(whole.albert.pooler) + count(whole.classifier)
    body = count(whole) - count(whole.albert.pooler) - count(whole.classifier)
    assert count(MHSForSequenceClassification.from_backbone(whole, 3, heads)) == body + heads * head


@pytest.mark.parametrize("how", ["probability", "logit"])
def test_the_combined_logits_of_a_student_are_its_heads_combined(how):
    student = MHSForSequenceClassification.from_backbone(backbone(), 3, 3, how, perturb=0.5).eval()
    with torch.no_grad():
        found = student(**batch())
    heads = found.head_logits
    assert heads.std(dim=1).min() > 1e-3
    expected = heads.softmax(-1).mean(1) if how == "probability" else heads.mean(1).softmax(-1)
    torch.testing.assert_close(found.logits.softmax(-1), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("whole", "fields", "message"),
    [
        (backbone(), {"body": 0}, "body: expected 1 to 3"),
        (backbone(), {"body": 4}, "body: expected 1 to 3"),
        (backbone(), {"perturb": -0.1}, "perturb: expected 0"),
        (backbone("mpnet"), {}, "got mpnet"),
        (backbone("albert", num_hidden_groups=2), {}, "num_hidden_groups 2"),
        (cross_encoder.one_label(backbone()), {}, "expected 2 labels, got 1; cross_encoder"),
    ],
)
def test_a_student_that_cannot_be_built_is_refused(whole, fields, message):
    with pytest.raises(ValueError, match=message):
        MHSForSequenceClassification.from_backbone(whole, **{"body": 2, "heads": 2, **fields})


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_does_not_change_a_score(family):
    student = MHSForSequenceClassification.from_backbone(backbone(family), 3, 3)
    short = {name: values[2:3, :7] for name, values in batch().items()}
    with torch.no_grad():
        torch.testing.assert_close(student(**short).logits, student(**batch()).logits[2:3], atol=1e-6, rtol=0)


@pytest.mark.parametrize("changes", [{"conv_kernel_size": 0}, {"relative_attention": False}, {"norm_rel_ebd": "none"}])
def test_a_plainer_deberta_gives_its_scores_too(changes):
    whole = backbone("deberta-v2", **changes)
    with torch.no_grad():
        found = MHSForSequenceClassification.from_backbone(whole, 2, 2)(**batch()).head_logits[:, 1]
        assert torch.equal(found, whole(**batch()).logits)
