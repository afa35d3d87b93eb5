"""The released models: state dicts with the published names."""

import re

import pytest
import torch

from as2lib.models.mhs import MHSForSequenceClassification
from tests.encoders import SIZES, batch, classifier


def released(family="electra", body=3, heads=3, **sizes):
    """A student whose heads differ, and its state dict by the published names, with a buffer and the second copy."""
    whole = classifier(family, type_vocab_size=2, **sizes)
    student = MHSForSequenceClassification.from_backbone(whole, body, heads, perturb=0.5)
    weights = {"embeddings.position_ids": torch.arange(40)[None]}
    for name, tensor in student.state_dict().items():
        name = name.replace("body.encoder.", "cerberus_shared_encoder.").removeprefix("body.")
        weights[re.sub(r"^heads\.(\d)\.(encoder\.)?", r"cerberus_heads.\1.", name)] = tensor
    copies = {f"core_base_model.{name}": value for name, value in weights.items() if name.startswith("embeddings")}
    return student.eval(), copies | weights


@pytest.mark.parametrize(
    ("family", "body", "heads", "sizes"),
    [("electra", 3, 3, {}), ("electra", 1, 5, {"embedding_size": 32}), ("roberta", 2, 2, {})],
)
def test_a_released_model_scores_as_the_mean_of_its_heads(tmp_path, family, body, heads, sizes):
    plain, weights = released(family, body, heads, **sizes)
    torch.save(weights, tmp_path / "cerberus_model.pt")
    config = {"model_type": family, **SIZES, "embedding_size": 16, "type_vocab_size": 2, **sizes}
    student = MHSForSequenceClassification.from_cerberus(tmp_path / "cerberus_model.pt", config)
    inputs = batch() | {"token_type_ids": (torch.arange(11) > 5).long().repeat(6, 1)}
    with torch.no_grad():
        output, expected = student(**inputs), plain(**inputs).head_logits
    assert expected.std(dim=1).min() > 1e-3  # heads differ
    torch.testing.assert_close(output.head_logits, expected)
    torch.testing.assert_close(output.logits.softmax(-1), expected.softmax(-1).mean(1))
