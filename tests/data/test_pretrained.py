"""A model's folder, as it is here or in the hub's cache, is whole, holds floats and names no code, or is refused."""

import json
import os

import pytest
import torch

from as2lib import Ranker, hub
from as2lib.data.encode import load_encoder
from tests.first_hour.hub_like import cached, public_model

NAME = "org/model"


@pytest.fixture
def model(folder):
    return public_model(folder / "model", labels=2)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def of_few_words(folder):
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"] = dict([*content["model"]["vocab"].items()][:6])
    (folder / "tokenizer.json").write_text(json.dumps(content))


TOKENIZERS = {
    "none": lambda folder: (folder / "tokenizer.json").unlink(),
    "half": lambda folder: (folder / "tokenizer.json").rename(folder / "vocab.json"),
    "other": of_few_words,
}


@pytest.mark.parametrize(("kind", "is_cached"), [("none", False), ("half", True), ("other", True)])
def test_a_tokenizer_that_is_not_whole_is_refused(model, kind, is_cached, monkeypatch):
    (model / "vocab.txt").unlink()
    TOKENIZERS[kind](model)
    name = NAME if is_cached and cached(model, NAME, monkeypatch) else model
    with pytest.raises(ValueError, match=rf"^{name}: expected a vocabulary of 25[^\n]*$"):
        load_encoder(name)


class Code:
    def __reduce__(self):
        return os.mkdir, ("mark",)


def pickled(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"a": Code()}, folder / "pytorch_model.bin")


PROMPTS = "config_sentence_transformers.json"
REFUSED = {
    "no file named model.safetensors": lambda folder: (folder / "model.safetensors").unlink(),
    "weights_only": pickled,
    "org/repo:attention": lambda folder: edit(folder / "config.json", attn_implementation="org/repo:attention"),
    "got an adapter": lambda folder: (folder / "config.json").rename(folder / "adapter_config.json"),
    "no saved prompt": lambda folder: (folder / PROMPTS).write_text('{"default_prompt_name": "query"}'),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_not_whole_would_rank_otherwise_or_run_code_is_refused(model, reason):
    REFUSED[reason](model)
    with pytest.raises(Exception, match=reason):
        Ranker.load(model)
    assert not os.path.exists("mark")


def test_a_name_that_is_nowhere_is_refused_and_what_is_cached_is_not_asked_for(model, monkeypatch, capfd):
    for name in (NAME, "no name of the hub"):
        with pytest.raises(FileNotFoundError, match=rf"^{name}: [^\n]+$"):
            hub.folder(name)
    assert capfd.readouterr().err.count("the hub is asked") == 2
    assert cached(model, NAME, monkeypatch) == hub.folder(NAME)
    assert capfd.readouterr().err == ""
