"""The released models: state dicts with the published names, and transformers' models with the same weights."""

import re
from io import BytesIO

import pytest
import torch

from as2lib.models import cerberus
from as2lib.models.mhs import MHSForSequenceClassification
from tests.encoders import batch, classifier, plain

INPUTS = batch() | {"token_type_ids": (torch.arange(11) > 5).long().repeat(6, 1)}


def classifiers(family="electra", body=3, layers=1, heads=3, **changes):
    """A model of transformers for each head: they differ in the layers and the classifier of the heads alone."""
    changes |= {"num_hidden_layers": body + layers, "type_vocab_size": 2}
    models = [plain(classifier(family, **changes)) for _ in range(heads)]
    for seed, model in enumerate(models):
        generator = torch.Generator().manual_seed(seed)
        for part in (*model.base_model.encoder.layer[body:], model.classifier):
            for weights in part.parameters():
                weights.data += 0.2 * torch.randn(weights.shape, generator=generator)
    return models


def released(models, body=3):
    """Their weights under the published names, with the buffer and the second copy that the published files have."""
    weights = {"embeddings.position_ids": torch.arange(40)[None]}
    for head, model in enumerate(models):
        for name, value in model.state_dict().items():
            name = name.removeprefix(f"{model.base_model_prefix}.")
            if name.startswith("classifier."):
                name = f"cerberus_heads.{head}.{name}"
            if name.startswith("encoder.layer."):
                number, rest = name.removeprefix("encoder.layer.").split(".", 1)
                layer = int(number)
                shared, own = f"cerberus_shared_encoder.layer.{layer}", f"cerberus_heads.{head}.layer.{layer - body}"
                name = f"{shared if layer < body else own}.{rest}"
            weights[name] = value
    copies = {f"core_base_model.{name}": value for name, value in weights.items() if name.startswith("embeddings")}
    return copies | weights


@pytest.mark.parametrize(
    ("family", "shape", "changes"),
    [
        ("electra", {"body": 3, "layers": 1, "heads": 3}, {"embedding_size": 32}),
        ("electra", {"body": 1, "layers": 3, "heads": 5}, {"embedding_size": 16}),
        ("roberta", {"body": 2, "layers": 2, "heads": 2}, {}),
    ],
)
def test_a_released_model_scores_as_the_mean_of_its_heads_probabilities_by_transformers(
    tmp_path, family, shape, changes
):
    models = classifiers(family, **shape, **changes)
    weights = released(models, shape["body"])
    assert ("embeddings_project.weight" in weights) == (changes.get("embedding_size") == 16)
    torch.save(weights, tmp_path / "cerberus_model.pt")
    student = MHSForSequenceClassification.from_cerberus(tmp_path / "cerberus_model.pt", models[0].config.to_dict())
    assert (student.config.body, student.config.heads) == (shape["body"], shape["heads"])
    with torch.no_grad():
        heads = torch.stack([model(**INPUTS).logits.softmax(-1) for model in models], dim=1)  # (b, k, c)
        output = student(**INPUTS)
    assert heads[..., 1].std(dim=0).min() > 2e-3  # pairs differ by far more than the tolerance
    assert heads[..., 1].std(dim=1).min() > 2e-3  # and so do heads
    torch.testing.assert_close(output.head_logits.softmax(-1), heads, atol=1e-5, rtol=0)
    torch.testing.assert_close(output.logits.softmax(-1), heads.mean(1), atol=1e-5, rtol=0)


KEY = "cerberus_heads.1.layer.0.attention.self.key.weight"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({KEY: None}, {}, f"{KEY}: expected shape (32, 32), got no such tensor"),
        ({KEY: torch.zeros(32, 31)}, {}, f"{KEY}: expected shape (32, 32), got shape (32, 31)"),
        ({"pooler.bias": torch.zeros(3)}, {}, "pooler.bias: expected no such tensor, got shape (3,)"),
        ({}, {"heads": 2}, "expected no such tensor"),
        ({}, {"backbone_config": classifier("bert").config}, "backbone: expected one of electra, roberta, got bert"),
    ],
)
def test_a_state_dict_that_does_not_fit_is_refused_in_one_line_that_names_a_tensor(tmp_path, change, options, message):
    models = classifiers()
    weights = {name: value for name, value in (released(models) | change).items() if value is not None}
    torch.save(weights, tmp_path / "model.pt")
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        MHSForSequenceClassification.from_cerberus(
            tmp_path / "model.pt", **{"backbone_config": models[0].config, **options}
        )
    assert "\n" not in str(raised.value)


class Opens:
    """What no reader of tensors may run."""

    def __reduce__(self):
        return (open, ("run.txt", "w"))


def content(value):
    torch.save(value, file := BytesIO())
    return file.getvalue()


OTHER_FILES = {  # what a file holds, words of what is said of it
    "a page": (b"<!DOCTYPE html><html><body>Not found</body></html>", "refuses"),
    "code beside tensors": (content({"weights": torch.zeros(2), "code": Opens()}), "refuses"),
    "a model beside more": (content({"model": released(classifiers()), "epoch": 3}), "got dict under 'model'"),
    "another model": (content({"bert.pooler.weight": torch.zeros(2)}), "got bert.pooler.weight"),
}


@pytest.mark.parametrize(("content", "words"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_a_file_that_is_no_released_model_is_one_line_that_names_it_and_nothing_in_it_runs(
    tmp_path, monkeypatch, content, words, recwarn
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"^odd\.pt: expected ") as raised:
        cerberus.read("odd.pt")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not recwarn
    assert [path.name for path in tmp_path.iterdir()] == ["odd.pt"]
