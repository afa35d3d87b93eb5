import pytest
import torch
from transformers import AutoModelForSequenceClassification

from as2lib.models import cross_encoder, mean
from as2lib.models.cross_encoder import BACKBONES
from as2lib.models.mhs import MHSForSequenceClassification
from tests.encoders import batch, classifier

MEANS = [f"mean of {family}" for family in BACKBONES]


def backbone(family="electra", **changes):
    """Of a family; that of a mean reads the mean of its tokens."""
    whole = classifier(family.removeprefix("mean of "), **changes)
    return mean.MeanForSequenceClassification.from_classifier(whole).eval() if family in MEANS else whole


@pytest.mark.parametrize("family", [*BACKBONES, *MEANS])
def test_equal_heads_give_the_backbones_scores(family):
    whole, heads = backbone(family, type_vocab_size=2), 3
    student = MHSForSequenceClassification.from_backbone(whole, 2, heads)
    full = batch(padded=False)
    types = (torch.arange(11) > 5).long().repeat(6, 1)
    for inputs in (batch(), batch() | {"token_type_ids": types}, full, {"input_ids": full["input_ids"]}):
        with torch.no_grad():
            expected, output = whole(**inputs).logits, student(**inputs)
        tolerance = 1e-5 if family in MEANS else 0
        torch.testing.assert_close(output.head_logits, torch.stack([expected] * heads, dim=1), atol=tolerance, rtol=0)
        torch.testing.assert_close(output.logits.softmax(-1), expected.softmax(-1), atol=1e-6, rtol=0)
    if family not in cross_encoder.OWN_ATTENTION:
        cross_encoder.set_attention(student, "eager")
        torch.testing.assert_close(student(**inputs).head_logits, output.head_logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", BACKBONES)
def test_the_body_learns_from_all_heads_and_a_head_only_from_its_own_loss(family):
    student = MHSForSequenceClassification.from_backbone(backbone(family), 3, 2)
    student(**batch()).head_logits[:, 0].square().sum().backward()

    def learns(module):
        return {name for name, weights in module.named_parameters() if weights.grad is not None and weights.grad.any()}

    not_first = {name for name, _ in student.heads[0].named_parameters()} - learns(student.heads[0])
    assert not {name for name in not_first if not name.endswith(("key.bias", "attn.k.bias"))}  # which softmax cancels
    assert not learns(student.heads[1])
    assert any(name.startswith("embeddings.") for name in learns(student.body))
    assert any(name.startswith("encoder.") for name in learns(student.body))


def test_a_perturbation_tells_heads_apart_and_its_seed_repeats_it():
    whole = backbone()

    def student(heads=3, perturb=0.1, seed=4):
        return MHSForSequenceClassification.from_backbone(whole, 3, heads, perturb=perturb, seed=seed).state_dict()

    equal, perturbed, other_seed = student(perturb=0.0), student(), student(seed=5)
    body = {name: value for name, value in equal.items() if name.startswith("body.")}
    for same in (body, student(), student(heads=2)):
        assert all(torch.equal(perturbed[name], value) for name, value in same.items())
    names = [f"heads.{head}.encoder.layer.0.intermediate.dense.weight" for head in range(3)]
    for i, name in enumerate(names):
        noise = (perturbed[name] - equal[name]) / equal[name].std()
        assert noise.std() == pytest.approx(0.1, rel=0.1)
        assert not torch.equal(perturbed[name], other_seed[name])
        assert not torch.equal(perturbed[name], perturbed[names[i - 1]])


@pytest.mark.parametrize(
    ("family", "changes"),
    [("albert", {}), ("electra", {"body": 4}), ("electra", {"body": 0}), ("electra", {"combine": "probabilty"})],
)
def test_another_family_and_a_shape_that_would_be_taken_for_another_are_refused_in_one_line(family, changes):
    with pytest.raises(ValueError, match=rf"^{next(iter(changes), 'backbone')}: expected [^\n]*$"):
        MHSForSequenceClassification.from_backbone(backbone(family), **{"body": 2, "heads": 2} | changes)


@pytest.mark.parametrize("how", ["probability", "logit"])
@pytest.mark.parametrize("family", [*BACKBONES, *MEANS])
def test_a_saved_student_comes_back_and_combines_its_heads_and_sums_their_cross_entropies(family, how, tmp_path):
    student = MHSForSequenceClassification.from_backbone(backbone(family), 2, 3, how, perturb=0.5).eval()
    student.save_pretrained(tmp_path)
    labels = torch.tensor([0, 1, 1, 0, 0, 1])
    output = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()(**batch(), labels=labels)
    torch.testing.assert_close(output.logits, student(**batch()).logits)
    heads = output.head_logits  # (b, k, c)
    assert heads.std(dim=1).min() > 1e-3
    expected = heads.softmax(-1).mean(1) if how == "probability" else heads.mean(1).softmax(-1)
    torch.testing.assert_close(output.logits.softmax(-1), expected, atol=1e-6, rtol=0)
    entropy = -heads.log_softmax(-1)[torch.arange(6), :, labels]  # (b, k)
    torch.testing.assert_close(output.loss, entropy.mean(0).sum())
