import pytest
import torch
from transformers import AutoModelForSequenceClassification

from as2lib import models
from as2lib.models import cross_encoder
from as2lib.models.cross_encoder import BACKBONES
from as2lib.models.mean import MeanForSequenceClassification
from tests.encoders import batch, classifier


def logits(model, inputs):
    with torch.no_grad():
        return model.eval()(**inputs).logits


def of_mean(plain, inputs):
    """The plain family's logits, with the mean of each row's real tokens in the first one's place."""

    def averaged(module, _, output):
        mask = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"])).bool()
        rows = [hidden[real].mean(0) for hidden, real in zip(output.last_hidden_state, mask, strict=True)]
        output.last_hidden_state = torch.stack(rows)[:, None]
        return output

    hook = plain.base_model.encoder.register_forward_hook(averaged)
    found = logits(plain, inputs)
    hook.remove()
    return found


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", BACKBONES)
def test_the_familys_classifier_reads_the_mean_of_the_real_tokens(family, attention, tmp_path):
    classifier(family).eval().save_pretrained(tmp_path)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    mean = MeanForSequenceClassification.from_classifier(cross_encoder.build(tmp_path))
    cross_encoder.set_attention(mean, attention)
    full = batch(padded=False)
    for inputs in (batch(), full, {"input_ids": full["input_ids"]}):
        torch.testing.assert_close(logits(mean, inputs), of_mean(plain, inputs), atol=1e-5, rtol=0)
    assert not torch.allclose(logits(mean, batch()), logits(plain, batch()), atol=1e-3)


@pytest.mark.parametrize("family", BACKBONES)
def test_its_folder_says_what_it_reads_and_gives_fewer_layers_too(family, tmp_path):
    mean = MeanForSequenceClassification.from_classifier(classifier(family))
    mean.save_pretrained(tmp_path)
    for load in (models.load, AutoModelForSequenceClassification.from_pretrained):
        torch.testing.assert_close(logits(load(tmp_path), batch()), logits(mean, batch()))
    fewer = cross_encoder.build(tmp_path, layers=2)
    assert len(fewer.model.base_model.encoder.layer) == 2
    assert fewer.config.backbone["num_hidden_layers"] == fewer.config.num_hidden_layers == 2
    assert not torch.allclose(logits(fewer, batch()), logits(mean, batch()), atol=1e-3)
