import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification

from as2lib import models
from as2lib.models import cross_encoder
from tests.encoders import FAMILIES, batch, classifier

FIELDS = {
    "model_type": "bert",
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
}
OTHERS = {  # families that nothing here names, as their configurations ask for them
    "distilbert": {"vocab_size": 40, "dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 24},
    "modernbert": {**FIELDS, "model_type": "modernbert", "pad_token_id": 0, "reference_compile": False},
    "xlnet": {"vocab_size": 40, "d_model": 16, "n_layer": 3, "n_head": 2, "d_inner": 24},
}
IDS = torch.arange(5, 25).reshape(2, 10)


def bert(labels=2):
    torch.manual_seed(0)
    config = AutoConfig.for_model(**FIELDS, num_labels=labels, initializer_range=0.2)
    return AutoModelForSequenceClassification.from_config(config).eval()


def saved(model, folder):
    model.save_pretrained(folder)
    return folder


def save_weights(weights, folder):
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def logits(model):
    with torch.no_grad():
        return model.eval()(IDS).logits


def test_a_saved_model_comes_back_and_can_be_cut_to_its_first_layers(tmp_path):
    whole = bert()
    saved(whole, tmp_path)
    again, cut = cross_encoder.build(tmp_path), cross_encoder.build(tmp_path, layers=2)
    torch.testing.assert_close(logits(again), logits(whole))
    assert cut.config.num_hidden_layers == 2
    hidden = whole(IDS, output_hidden_states=True).hidden_states[2]
    torch.testing.assert_close(cut.eval().bert(IDS).last_hidden_state[:, 0], hidden[:, 0])
    with pytest.raises(ValueError, match="expected 1 to 3"):
        cross_encoder.build(tmp_path, layers=4)


@pytest.mark.parametrize("family", OTHERS)
def test_any_family_is_built_from_a_folder_of_its_encoder_scores_and_comes_back(family, tmp_path):
    torch.manual_seed(0)
    config = AutoConfig.for_model(**{"model_type": family, **OTHERS[family]})
    encoder = AutoModelForSequenceClassification.from_config(config).base_model
    saved(encoder, tmp_path / "encoder")  # without a classifier, as pretrained encoders come
    model = cross_encoder.build(tmp_path / "encoder")
    weights = model.base_model.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in encoder.state_dict().items())
    assert logits(model).shape == (2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert logits(model).dtype == torch.float32
    again = models.load(saved(model, tmp_path / "model"))
    torch.testing.assert_close(logits(again), logits(model))


@pytest.mark.parametrize("open_model", [models.load, cross_encoder.build])
def test_more_than_two_labels_are_refused(tmp_path, open_model):
    saved(bert(labels=3), tmp_path)
    with pytest.raises(ValueError, match="labels"):
        open_model(tmp_path)


def test_a_fit_of_half_precision_weights_starts_in_float32(tmp_path):
    saved(bert().half(), tmp_path)
    for source in (tmp_path, AutoConfig.from_pretrained(tmp_path)):
        assert {weights.dtype for weights in cross_encoder.build(source).parameters()} == {torch.float32}


def test_a_public_checkpoints_old_buffers_and_pooler_are_passed_over(tmp_path):
    reranker = bert(labels=1)
    weights = load_file(saved(reranker, tmp_path) / "model.safetensors")
    more = {"bert.embeddings.position_ids": torch.arange(32)[None], "cls.predictions.bias": torch.zeros(40)}
    save_weights(weights | more, tmp_path)
    torch.testing.assert_close(logits(models.load(tmp_path)), logits(reranker))


@pytest.mark.parametrize("open_model", [models.load, cross_encoder.build])
def test_a_tensor_that_is_missing_of_another_shape_or_not_finite_is_named_in_one_line(tmp_path, open_model):
    whole = load_file(saved(bert(), tmp_path) / "model.safetensors")
    name = "bert.encoder.layer.1.output.dense.weight"
    changes = {
        "got none": {key: value for key, value in whole.items() if key != name},
        "expected shape": whole | {name: torch.zeros(16, 23)},
        "finite": whole | {name: torch.full((16, 24), torch.nan)},
    }
    for words, weights in changes.items():
        save_weights(weights, tmp_path)
        with pytest.raises(ValueError, match=words) as raised:
            open_model(tmp_path)
        assert name in str(raised.value)
        assert "\n" not in str(raised.value)


def test_a_folder_without_a_classifier_or_without_a_model_ranks_nothing(tmp_path):
    saved(bert().bert, tmp_path)
    with pytest.raises(ValueError, match=r"classifier\.weight: expected a tensor"):
        models.load(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(ValueError, match=r"config\.json"):
        models.load(tmp_path)


@pytest.mark.parametrize("family", [*FAMILIES, "distilbert"])
def test_a_classifier_of_one_label_ranks_as_that_of_two(family, tmp_path):
    model = classifier(family) if family in FAMILIES else cross_encoder.build({"model_type": family, **OTHERS[family]})
    two, inputs = model.eval(), batch() if family in FAMILIES else {"input_ids": IDS}
    one = cross_encoder.one_label(two)
    with torch.no_grad():
        expected = two(**inputs).logits
        z = expected[:, 1] - expected[:, 0]
        torch.testing.assert_close(one(**inputs).logits[:, 0], z, atol=1e-5, rtol=0)
        again = AutoModelForSequenceClassification.from_pretrained(saved(one, tmp_path)).eval()
        torch.testing.assert_close(again(**inputs).logits[:, 0], z, atol=1e-5, rtol=0)
    assert (again.config.num_labels, two.config.num_labels) == (1, 2)
