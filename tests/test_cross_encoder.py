import pytest
import torch

from as2lib.models import cross_encoder
from as2lib.score import classifying_in_float32

FIELDS = {
    "model_type": "bert",
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
}
IDS = torch.arange(5, 25).reshape(2, 10)


def test_a_saved_model_comes_back_and_can_be_cut_to_its_first_layers(tmp_path):
    torch.manual_seed(0)
    whole = cross_encoder.build(FIELDS).eval()
    whole.save_pretrained(tmp_path)
    again, cut = cross_encoder.build(tmp_path).eval(), cross_encoder.build(tmp_path, layers=2).eval()
    torch.testing.assert_close(again(IDS).logits, whole(IDS).logits)
    assert cut.config.num_hidden_layers == 2
    hidden = whole(IDS, output_hidden_states=True).hidden_states[2]
    torch.testing.assert_close(cut.bert(IDS).last_hidden_state, hidden)


def test_a_hub_name_is_read_from_the_folder_that_local_yaml_gives(tmp_path, monkeypatch):
    torch.manual_seed(0)
    whole = cross_encoder.build(FIELDS)
    whole.save_pretrained(tmp_path / "weights")
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "local.yaml").write_text("local: {some/encoder: weights}\n")
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    assert torch.equal(cross_encoder.build("some/encoder").classifier.weight, whole.classifier.weight)


@pytest.mark.parametrize("layers", [0, 4])
def test_more_layers_than_there_are_are_refused(tmp_path, layers):
    cross_encoder.build(FIELDS).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="expected 1 to 3"):
        cross_encoder.build(tmp_path, layers=layers)


def test_inside_the_classifier_computes_in_float32_under_bf16_and_afterwards_nothing_has_changed():
    torch.manual_seed(0)
    model = cross_encoder.build(FIELDS).eval()
    before = model(IDS).logits
    with classifying_in_float32(model):
        torch.testing.assert_close(model(IDS).logits, before, rtol=0, atol=0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert model(IDS).logits.dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(IDS).logits.dtype == torch.bfloat16
