"""The released models: state dicts with the published names, and transformers' own model of each head."""

import re

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from as2lib.models.mhs import MHSForSequenceClassification
from tests.encoders import batch

CONFIG = {"vocab_size": 50, "hidden_size": 24, "num_hidden_layers": 4, "num_attention_heads": 4, "pad_token_id": 1}
CONFIG |= {"intermediate_size": 40, "max_position_embeddings": 30, "type_vocab_size": 2, "layer_norm_eps": 1e-12}


def classifier(family, embedding):
    config = AutoConfig.for_model(family, **CONFIG, embedding_size=embedding)
    return AutoModelForSequenceClassification.from_config(config).eval()


def published(name, head, body):
    """The published name of a tensor of the classifier that a head and the shared layers are together."""
    name = re.sub(r"^\w+\.(embeddings|encoder)", r"\1", name)
    if layer := re.match(r"encoder\.layer\.(\d+)", name):
        number = int(layer[1])
        place = f"shared_encoder.layer.{number}" if number < body else f"heads.{head}.layer.{number - body}"
        return f"cerberus_{place}{name[layer.end() :]}"
    return f"cerberus_heads.{head}.{name}" if name.startswith("classifier") else name


def released(family="electra", body=3, heads=3, embedding=24):
    """A state dict with the published names, its tensors random, a buffer and the second copy included."""
    weights, generator = {"embeddings.position_ids": torch.arange(30)[None]}, torch.Generator().manual_seed(0)
    for head in range(heads):
        for name, tensor in classifier(family, embedding).state_dict().items():
            around = float(name.endswith("LayerNorm.weight"))
            weights[published(name, head, body)] = around + 0.4 * torch.randn(tensor.shape, generator=generator)
    copies = {f"core_base_model.{name}": value for name, value in weights.items() if name.startswith("embeddings")}
    return copies | weights


@pytest.mark.parametrize(
    ("family", "body", "heads", "embedding"), [("electra", 3, 3, 16), ("electra", 1, 5, 24), ("roberta", 2, 2, 24)]
)
def test_a_released_model_scores_as_the_mean_of_its_heads_in_transformers(tmp_path, family, body, heads, embedding):
    weights, plain = released(family, body, heads, embedding), classifier(family, embedding)
    inputs = batch() | {"token_type_ids": (torch.arange(11) > 5).long().repeat(6, 1)}
    torch.save(weights, tmp_path / "cerberus_model.pt")
    config = {"model_type": family, **CONFIG, "embedding_size": embedding}
    student = MHSForSequenceClassification.from_cerberus(tmp_path / "cerberus_model.pt", config)
    probabilities = []
    for head in range(heads):
        plain.load_state_dict({name: weights[published(name, head, body)] for name in plain.state_dict()})
        probabilities.append(plain(**inputs).logits.softmax(-1).detach())
    expected = torch.stack(probabilities, dim=1)  # (b, k, c)
    with torch.no_grad():
        output = student(**inputs)
    assert expected.std(dim=0).min() > 2e-3  # pairs differ by far more than the tolerance
    torch.testing.assert_close(output.logits.softmax(-1), expected.mean(1), atol=1e-5, rtol=0)
    torch.testing.assert_close(output.head_logits.softmax(-1), expected, atol=1e-5, rtol=0)
