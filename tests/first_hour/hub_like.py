"""What a user has in the first hour: a public encoder or reranker, and the hub's cache."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

from tests.study.conftest import WORDS

ROOT = Path(__file__).parents[2]
VOCABULARY = [*"[PAD] [UNK] [CLS] [SEP] [MASK] where is the ? here it was a".split(), *WORDS]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 24, "max_position_embeddings": 40}


def tokenizer(folder: Path) -> BertTokenizerFast:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    return BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=40)


def public_model(folder: Path, labels: int | None, **sizes: int) -> Path:
    """A folder as the hub has them, made by transformers alone: an encoder, or a reranker with so many labels."""
    return Path(shutil.copytree(built(labels, **sizes), folder, dirs_exist_ok=True))


BUILT = TemporaryDirectory()  # each model once a process


@cache
def built(labels: int | None, **sizes: int) -> Path:
    folder = Path(BUILT.name) / f"{labels} {sizes}"
    words = tokenizer(folder)
    torch.manual_seed(labels or 0)
    config = BertConfig(vocab_size=len(words), initializer_range=0.3, num_labels=labels or 2, **SIZES | sizes)
    for part in (BertForSequenceClassification(config) if labels else BertModel(config), words):
        part.save_pretrained(folder)
    return folder


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def cached(folder: Path, name: str, monkeypatch) -> Path:
    """A model's folder, moved to where the hub's cache has it: `hub/` beside it."""
    root = folder.parent / "hub" / f"models--{name.replace('/', '--')}"
    (root / "snapshots").mkdir(parents=True)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder.parent / "hub"))
    return folder.rename(root / "snapshots" / COMMIT)
