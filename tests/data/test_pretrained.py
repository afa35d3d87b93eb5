"""A model's folder, as it is here or in the hub's cache, is whole, holds floats and names no code, or is refused."""

import json
import os
import socket

import pytest
import torch

from as2lib import Ranker, hub
from as2lib.data.encode import load_encoder
from as2lib.data.pretrained import open_tokenizer, require_whole
from as2lib.data.vectors import encoder_vectors
from tests.first_hour.hub_like import cached, public_model

NAME = "org/model"
OPENED = {
    "rank": Ranker.load,
    "train": load_encoder,
    "study": open_tokenizer,
    "vectors": lambda name: encoder_vectors(name, ["red"], 1),
}


@pytest.fixture
def model(folder):
    return public_model(folder / "model", labels=2)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def without_merges(folder):
    (folder / "tokenizer.json").rename(folder / "vocab.json")


def of_few_words(folder):
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"] = dict([*content["model"]["vocab"].items()][:6])
    (folder / "tokenizer.json").write_text(json.dumps(content))


TOKENIZERS = {
    "none": lambda folder: (folder / "tokenizer.json").unlink(),
    "half": without_merges,
    "other": of_few_words,
}


@pytest.mark.parametrize(
    ("opened", "kind", "is_cached"),
    [
        ("rank", "none", False),
        ("rank", "other", True),
        ("train", "half", True),
        ("study", "other", False),
        ("vectors", "half", False),
    ],
)
def test_a_tokenizer_that_is_not_whole_is_refused_by_whatever_opens_it(model, opened, kind, is_cached, monkeypatch):
    (model / "vocab.txt").unlink()
    TOKENIZERS[kind](model)
    name = NAME if is_cached and cached(model, NAME, monkeypatch) else model
    with pytest.raises(ValueError, match=rf"^{name}: expected a (tokenizer|vocabulary of 25)[^\n]*$"):
        OPENED[opened](name)


def test_a_tokenizer_of_sentencepiece_without_that_package_is_refused_in_one_line(model, monkeypatch):
    (model / "tokenizer.json").rename(model / "spm.model")
    monkeypatch.setattr("as2lib.data.pretrained.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=rf"^{model}: expected the package sentencepiece[^\n]* spm.model[^\n]*$"):
        Ranker.load(model)


@pytest.mark.parametrize("lacks", ["model.safetensors", "config.json", "model-00002-of-00002.safetensors"])
def test_a_folder_without_its_weights_is_not_whole(model, lacks):
    if "-of-" in lacks:
        index = {"weight_map": {"a": "model.safetensors", "b": lacks}}
        (model / "model.safetensors.index.json").write_text(json.dumps(index))
    else:
        (model / lacks).unlink()
    with pytest.raises(ValueError, match=lacks):
        require_whole(model)


class Code:
    def __reduce__(self):
        return os.mkdir, ("mark",)


def pickled(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"a": Code()}, folder / "pytorch_model.bin")


PROMPTS = "config_sentence_transformers.json"
REFUSED = {
    "a pickle that holds code, which is never run": pickled,
    "'org/repo:attention', code": lambda folder: edit(folder / "config.json", attn_implementation="org/repo:attention"),
    "got an adapter": lambda folder: (folder / "adapter_config.json").write_text("{}"),
    "no saved prompt": lambda folder: (folder / PROMPTS).write_text('{"default_prompt_name": "query"}'),
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_would_rank_otherwise_or_run_code_of_another_place_is_refused_in_one_line(model, line):
    REFUSED[line](model)
    with pytest.raises(ValueError, match=rf"^[^\n]*{line}[^\n]*$"):
        Ranker.load(model)
    assert not os.path.exists("mark")


def test_a_hub_that_takes_a_question_and_says_nothing_is_given_up(model, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr(hub, "TIMEOUT", 0.2)
        monkeypatch.setattr(hub, "answers", lambda: True)  # as one does whose files alone are stuck
        for kind in ("model", "dataset"):
            assert "does not send it" in hub.refusal(NAME, "main", kind)
        with pytest.raises(FileNotFoundError, match=rf"^{NAME}: no folder of that name[^\n]*does not send it[^\n]*$"):
            hub.folder(NAME)
    assert cached(model, NAME, monkeypatch) == hub.folder(NAME)  # what is whole here is not asked for
