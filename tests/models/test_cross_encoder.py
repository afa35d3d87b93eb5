import json
from itertools import product

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForSequenceClassification

from as2lib import models
from as2lib.models import cross_encoder
from as2lib.models.logits import two_class_logits
from tests.encoders import SIZES

IDS = torch.arange(5, 25).reshape(2, 10)


def bert(labels=2):
    torch.manual_seed(0)
    config = AutoConfig.for_model("bert", **SIZES, num_labels=labels, initializer_range=0.2)
    return AutoModelForSequenceClassification.from_config(config).eval()


def saved(model, folder):
    model.save_pretrained(folder)
    return folder


def logits(model):
    with torch.no_grad():
        return model.eval()(IDS).logits


@pytest.mark.parametrize(
    ("names", "correct"),  # what labels are called, and which of them means that a candidate answers
    [
        (["yes", "no"], 0),
        (["entailment", "not_entailment"], 0),
        (["LABEL_1", "LABEL_0"], 0),
        (["false", "true"], 1),
        (["group A", "group B"], 1),
    ],
)
def test_a_model_whose_label_0_means_yes_is_refused_wherever_it_is_opened(names, correct, tmp_path):
    plain = bert()
    saved(plain, tmp_path)
    plain_config = json.loads((tmp_path / "config.json").read_text())
    fields = {"id2label": dict(enumerate(names))}, {"label2id": {name: place for place, name in enumerate(names)}}
    for field, open_model in product(fields, (models.load, cross_encoder.build)):
        (tmp_path / "config.json").write_text(json.dumps(plain_config | field))
        if correct == 0:
            with pytest.raises(ValueError, match=r"^[^\n]*expected label 1 to be the correct one[^\n]*$"):
                open_model(tmp_path)
        else:
            torch.testing.assert_close(logits(open_model(tmp_path)), logits(plain))


def test_a_tensor_that_is_missing_or_of_another_shape_is_named_in_one_line(tmp_path):
    saved(bert(), tmp_path)
    whole, name = load_file(tmp_path / "model.safetensors"), "bert.encoder.layer.1.output.dense.weight"
    for weights in ({key: value for key, value in whole.items() if key != name}, whole | {name: torch.zeros(16, 23)}):
        save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
        for open_model in (models.load, cross_encoder.build):
            with pytest.raises(ValueError, match=rf"^[^\n]*{name}[^\n]*$"):
                open_model(tmp_path)


def test_under_bf16_the_classifier_computes_in_float32_and_its_tensors_keep_their_names():
    plain = bert()
    model = bert()
    assert cross_encoder.for_ranking(model) is model
    torch.testing.assert_close(logits(model), logits(plain), atol=1e-5, rtol=0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert logits(plain).dtype == torch.bfloat16
        assert logits(model).dtype == torch.float32
    assert model.state_dict().keys() == plain.state_dict().keys()
    parts = list(model.modules())
    assert list(cross_encoder.for_ranking(model).modules()) == parts  # a second time changes nothing


def test_a_saved_model_comes_back_is_cut_to_its_first_layers_and_one_label_keeps_its_head(tmp_path, capsys):
    whole, reranker = bert(), bert(labels=1)
    saved(whole, tmp_path / "two")
    again, cut = cross_encoder.build(tmp_path / "two"), cross_encoder.build(tmp_path / "two", layers=2)
    torch.testing.assert_close(logits(again), logits(whole))
    assert cut.config.num_hidden_layers == 2
    hidden = whole(IDS, output_hidden_states=True).hidden_states[2]
    torch.testing.assert_close(cut.eval().bert(IDS).last_hidden_state[:, 0], hidden[:, 0])
    model = cross_encoder.build(saved(reranker, tmp_path / "one"))
    torch.testing.assert_close(logits(model), two_class_logits(logits(reranker)))
    assert model.config.num_labels == 2
    cross_encoder.build(saved(bert(labels=3), tmp_path / "three"))
    assert "a new classifier of two classes replaces classifier.weight" in capsys.readouterr().err


def test_a_checkpoint_of_half_precision_is_raised_and_one_of_three_labels_refused(tmp_path):
    for dtype in (torch.float16, torch.bfloat16):
        saved(bert().to(dtype), tmp_path)
        config = AutoConfig.from_pretrained(tmp_path)
        for model in (models.load(tmp_path), cross_encoder.build(tmp_path), cross_encoder.build(config)):
            assert {weights.dtype for weights in model.parameters()} == {torch.float32}
    saved(bert(labels=3), tmp_path)
    with pytest.raises(ValueError, match=r"^[^\n]*$"):
        models.load(tmp_path)
