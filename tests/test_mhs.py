import pytest
import torch
from transformers import AutoModelForSequenceClassification

from as2lib.models import cross_encoder
from as2lib.models.mhs import MHSConfig, MHSForSequenceClassification, combine

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}


def backbone(family="electra", **changes):
    torch.manual_seed(0)
    extra = {"embedding_size": 16} if family == "electra" else {}
    return cross_encoder.build({"model_type": family, **SIZES, **extra, **changes}).eval()


def batch():
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, 50, (6, 11), generator=generator)
    mask = torch.ones_like(ids)
    ids[2, 7:], mask[2, 7:] = 0, 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("family", ["electra", "bert", "roberta"])
@pytest.mark.parametrize(("body", "heads"), [(3, 1), (3, 3), (1, 2)])
@pytest.mark.parametrize("how", ["probability", "logit"])
def test_equal_heads_give_the_backbones_scores(family, body, heads, how):
    whole = backbone(family)
    student = MHSForSequenceClassification.from_backbone(whole, body, heads, how)
    with torch.no_grad():
        expected, found = whole(**batch()).logits, student(**batch())
    assert found.head_logits.shape == (6, heads, 2)
    torch.testing.assert_close(found.logits.softmax(-1), expected.softmax(-1), atol=1e-6, rtol=0)
    torch.testing.assert_close(found.head_logits[:, -1], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", ["electra", "bert", "roberta"])
def test_a_saved_student_comes_back_with_its_scores(family, tmp_path):
    student = MHSForSequenceClassification.from_backbone(backbone(family), 2, 3)
    for head in student.heads:  # heads that differ, so that a mix-up would show
        torch.nn.init.normal_(head.classifier.parameters().__next__())
    student.save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    for load in (MHSForSequenceClassification.from_pretrained, AutoModelForSequenceClassification.from_pretrained):
        with torch.no_grad():
            torch.testing.assert_close(load(tmp_path).eval()(**batch()).logits, student(**batch()).logits)


def test_heads_start_as_copies_that_do_not_share_weights():
    student = MHSForSequenceClassification.from_backbone(backbone(), 3, 2)
    first, second = (head.encoder.layer[0].output.dense.weight for head in student.heads)
    assert torch.equal(first, second)
    assert first.data_ptr() != second.data_ptr()


def test_the_body_learns_from_all_heads_and_a_head_only_from_its_own_loss():
    student = MHSForSequenceClassification.from_backbone(backbone(), 3, 2)
    student(**batch()).head_logits[:, 0].sum().backward()
    assert student.body.encoder.layer[0].output.dense.weight.grad.any()
    assert student.heads[0].classifier.dense.weight.grad.any()
    assert not student.heads[1].classifier.dense.weight.grad.any()


def test_parameters_are_a_body_and_k_heads():
    def count(module):
        return sum(parameter.numel() for parameter in module.parameters())

    whole = backbone()
    student = MHSForSequenceClassification.from_backbone(whole, 3, 3)
    head = count(whole.electra.encoder.layer[3]) + count(whole.classifier)
    assert count(student) == count(whole) + 2 * head


def test_a_base_size_student_has_the_published_number_of_parameters():
    with torch.device("meta"):
        config = MHSConfig({"model_type": "electra", **{k: v for k, v in ELECTRA_BASE.items()}}, body=11, heads=3)
        student = MHSForSequenceClassification(config)
    millions = sum(parameter.numel() for parameter in student.parameters()) / 1e6
    assert abs(millions - 124) < 4  # CERBERUS Table 4


ELECTRA_BASE = {
    "vocab_size": 30522,
    "embedding_size": 768,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}


def test_combining_by_probability_is_the_mean_softmax():
    head_logits = torch.randn(5, 3, 2, generator=torch.Generator().manual_seed(0))
    expected = head_logits.softmax(-1).mean(1)
    torch.testing.assert_close(combine(head_logits, "probability").softmax(-1), expected)
    torch.testing.assert_close(combine(head_logits, "logit"), head_logits.mean(1))


def test_padding_does_not_change_a_score():
    student = MHSForSequenceClassification.from_backbone(backbone(), 3, 3)
    short = {name: values[2:3, :7] for name, values in batch().items()}
    with torch.no_grad():
        torch.testing.assert_close(student(**short).logits, student(**batch()).logits[2:3], atol=1e-6, rtol=0)


@pytest.mark.parametrize("body", [0, 4, 5])
def test_a_body_that_leaves_no_layer_to_the_heads_is_refused(body):
    with pytest.raises(ValueError, match="body: expected 1 to 3"):
        MHSForSequenceClassification.from_backbone(backbone(), body, 3)


def test_an_unsupported_family_is_refused_by_name():
    fields = {"model_type": "distilbert", "vocab_size": 50, "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    with pytest.raises(ValueError, match="got distilbert"):
        MHSForSequenceClassification.from_backbone(cross_encoder.build(fields), 1, 2)
