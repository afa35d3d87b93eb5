"""The released models: state dicts with the published names, and a plain implementation of what they compute."""

from math import erf, sqrt

import pytest
import torch
from torch.nn.functional import layer_norm

from as2lib.models import cerberus
from as2lib.models.mhs import MHSForSequenceClassification

EPS, HEADS, PADDING = 1e-12, 4, 1
CONFIG = {"vocab_size": 50, "hidden_size": 24, "num_hidden_layers": 4, "num_attention_heads": HEADS}
CONFIG |= {"intermediate_size": 40, "max_position_embeddings": 30, "type_vocab_size": 2}
CONFIG |= {"layer_norm_eps": EPS, "pad_token_id": PADDING}


def released(body=3, layers=1, heads=3, hidden=24, embedding=24, seed=0):
    """A state dict with the published names, its tensors random, buffers and the second copy included."""
    sizes = {"word": 50, "position": 30, "token_type": 2}
    shapes = {f"embeddings.{name}_embeddings.weight": (size, embedding) for name, size in sizes.items()}
    shapes |= {"embeddings.LayerNorm.weight": (embedding,), "embeddings.LayerNorm.bias": (embedding,)}
    if embedding != hidden:
        shapes |= linear("embeddings_project", embedding, hidden)
    places = [f"cerberus_shared_encoder.layer.{n}" for n in range(body)]
    places += [f"cerberus_heads.{i}.layer.{j}" for i in range(heads) for j in range(layers)]
    for place in places:
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= linear(f"{place}.attention.{part}", hidden, hidden)
        shapes |= linear(f"{place}.intermediate.dense", hidden, 40) | linear(f"{place}.output.dense", 40, hidden)
        for norm in ("attention.output", "output"):
            shapes |= {f"{place}.{norm}.LayerNorm.{kind}": (hidden,) for kind in ("weight", "bias")}
    for i in range(heads):
        shapes |= linear(f"cerberus_heads.{i}.classifier.dense", hidden, hidden)
        shapes |= linear(f"cerberus_heads.{i}.classifier.out_proj", hidden, 2)
    generator = torch.Generator().manual_seed(seed)
    tensors = {name: 0.4 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    tensors = {name: value + name.endswith("LayerNorm.weight") for name, value in tensors.items()}  # around one
    tensors["embeddings.position_ids"] = torch.arange(30)[None]
    copies = {f"core_base_model.{name}": value for name, value in tensors.items() if name.startswith("embeddings")}
    return copies | tensors


def linear(name, inputs, outputs):
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def batch():
    ids = torch.randint(2, 50, (5, 12), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    ids[3, 8:], mask[3, 8:] = PADDING, 0
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": (torch.arange(12) > 5).long().repeat(5, 1)}


def plain_forward(weights, family, body, layers, heads, input_ids, attention_mask, token_type_ids):
    """P of each class, (b, 2), straight from the state dict, a pair at a time: the mean of the heads' softmaxes."""
    rows = []
    for ids, mask, types in zip(input_ids, attention_mask.bool(), token_type_ids, strict=True):
        ids, types = ids[mask], types[mask]  # without padding there is nothing to mask
        first = PADDING + 1 if family == "roberta" else 0
        parts = {"word": ids, "position": torch.arange(len(ids)) + first, "token_type": types}
        hidden = sum(weights[f"embeddings.{name}_embeddings.weight"][index] for name, index in parts.items())
        hidden = normed(hidden, weights, "embeddings.LayerNorm")
        if "embeddings_project.weight" in weights:
            hidden = applied(hidden, weights, "embeddings_project")
        for n in range(body):
            hidden = layer(hidden, weights, f"cerberus_shared_encoder.layer.{n}")
        probabilities = []
        for i in range(heads):
            state = hidden
            for j in range(layers):
                state = layer(state, weights, f"cerberus_heads.{i}.layer.{j}")
            state = applied(state[0], weights, f"cerberus_heads.{i}.classifier.dense")
            state = torch.tanh(state) if family == "roberta" else gelu(state)
            exponents = applied(state, weights, f"cerberus_heads.{i}.classifier.out_proj").exp()
            probabilities.append(exponents / exponents.sum())
        rows.append(sum(probabilities) / heads)
    return torch.stack(rows)


def layer(hidden, weights, place):
    query, key, value = (
        applied(hidden, weights, f"{place}.attention.self.{part}") for part in ("query", "key", "value")
    )
    width, context = hidden.shape[1] // HEADS, []
    for i in range(HEADS):
        own = slice(i * width, (i + 1) * width)
        exponents = (query[:, own] @ key[:, own].T / sqrt(width)).exp()
        context.append(exponents / exponents.sum(1, keepdim=True) @ value[:, own])
    attended = applied(torch.cat(context, 1), weights, f"{place}.attention.output.dense")
    hidden = normed(hidden + attended, weights, f"{place}.attention.output.LayerNorm")
    between = gelu(applied(hidden, weights, f"{place}.intermediate.dense"))
    return normed(hidden + applied(between, weights, f"{place}.output.dense"), weights, f"{place}.output.LayerNorm")


def applied(hidden, weights, name):
    return hidden @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normed(hidden, weights, name):
    return layer_norm(hidden, hidden.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], EPS)


def gelu(values):
    return values * torch.tensor([(1 + erf(v / sqrt(2))) / 2 for v in values.flatten().tolist()]).view_as(values)


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        ("electra", {"body": 3, "layers": 1, "heads": 3, "embedding": 16}),
        ("electra", {"body": 1, "layers": 3, "heads": 5}),
        ("roberta", {"body": 2, "layers": 2, "heads": 2}),
    ],
)
def test_a_released_model_scores_as_a_plain_implementation_of_its_state_dict_does(tmp_path, family, shape):
    weights = released(**shape)
    torch.save(weights, tmp_path / "cerberus_model.pt")
    config = {"model_type": family, **CONFIG, "embedding_size": shape.get("embedding", 24)}
    student = MHSForSequenceClassification.from_cerberus(
        tmp_path / "cerberus_model.pt", config, shape["body"], shape["heads"]
    )
    size = {name: shape[name] for name in ("body", "layers", "heads")}
    expected = plain_forward(weights, family, **size, **batch())
    with torch.no_grad():
        found = student(**batch())
    assert expected[:, 1].std() > 2e-3  # pairs differ by far more than the tolerance
    torch.testing.assert_close(found.logits.softmax(-1), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.head_logits.softmax(-1).mean(1), expected, atol=1e-5, rtol=0)


class Opens:
    """What no reader of tensors may run."""

    def __reduce__(self):
        return (open, ("run.txt", "w"))


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        ({"cerberus_heads.1.layer.0.attention.self.key.weight": None}, {}),
        ({}, {"heads": 2}),
        ({}, {"model_type": "bert"}),
    ],
)
def test_a_state_dict_that_does_not_fit_is_refused(tmp_path, change, shape):
    weights = {name: value for name, value in (released() | change).items() if value is not None}
    torch.save(weights, tmp_path / "model.pt")
    config = {"model_type": shape.get("model_type", "electra"), **CONFIG, "embedding_size": 24}
    with pytest.raises(ValueError):
        MHSForSequenceClassification.from_cerberus(tmp_path / "model.pt", config, None, shape.get("heads"))


@pytest.mark.parametrize(
    "content",
    [
        b"<!DOCTYPE html><html><body>Not found</body></html>",
        {"weights": torch.zeros(2), "code": Opens()},
        {"bert.pooler.weight": torch.zeros(2)},
    ],
    ids=["a page", "code beside tensors", "another model"],
)
def test_a_file_that_is_no_released_model_is_one_line_that_names_it_and_nothing_in_it_runs(
    tmp_path, monkeypatch, content, recwarn
):
    monkeypatch.chdir(tmp_path)
    if isinstance(content, bytes):
        (tmp_path / "odd.pt").write_bytes(content)
    else:
        torch.save(content, tmp_path / "odd.pt")
    with pytest.raises(ValueError, match=r"^odd\.pt: expected [^\n]*$"):
        cerberus.read("odd.pt")
    assert not recwarn
    assert [path.name for path in tmp_path.iterdir()] == ["odd.pt"]
