"""Static word vectors: read from a file, made by an encoder, or random, and kept in `work/vectors/`.

V words of the corpus · d dimensions
"""

import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from as2lib.data.pretrained import open_pretrained, open_tokenizer
from as2lib.data.words import unknown_id
from as2lib.paths import find_root, whole_file, work_folder

_BATCH = 512


def embeddings(source: dict, identity: object, words: Sequence[str]) -> np.ndarray:
    """The vectors of a corpus's words, (V, d) float16, mapped from `work/vectors/`, where they are put the first time.

    source: `{"source": "file" | "encoder" | "random", "name": path or model, "dimensions": d}`.
    identity: of the source and of our version, as JSON values.
    A word that the source does not know has the vector of `unknown_vector`; a random one knows none.
    """
    digest = hashlib.sha256(json.dumps([source, identity, words], sort_keys=True).encode()).hexdigest()
    path = work_folder() / "vectors" / f"{digest}.npy"
    if not path.exists():
        kind, dimensions, vector_of = source["source"], source["dimensions"], {}
        if kind == "file":
            vector_of = read_vectors(find_root() / source["name"], words, dimensions)
        elif kind == "encoder":
            vector_of = dict(zip(words, encoder_vectors(source["name"], words, dimensions), strict=True))
        unknown = (word for word in words if word not in vector_of)
        vector_of |= {word: unknown_vector(unknown_id(word), dimensions) for word in unknown}
        with whole_file(path) as temporary, temporary.open("wb") as stream:
            np.save(stream, np.stack([vector_of[word] for word in words]).astype(np.float16))
    return np.load(path, mmap_mode="r")


def unknown_vector(number: int, dimensions: int) -> np.ndarray:
    """(d,) float32 of length 1, from a generator seeded with a word's `unknown_id`: the same on every machine."""
    vector = np.random.default_rng(-number).standard_normal(dimensions)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def read_vectors(path: Path, words: Sequence[str], dimensions: int) -> dict[str, np.ndarray]:
    """Word → (d,) float32 of those words that a text file has, GloVe's, word2vec's or Numberbatch's, also gzipped."""
    wanted, vectors = {*words}, {}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            word, *values = line.rstrip().removeprefix("/c/en/").split(" ")
            if word in wanted and len(values) == dimensions:  # else it may be the header
                vectors[word] = np.array(values, np.float32)
    if not vectors:
        raise ValueError(f"{path}: expected words of the corpus with {dimensions} numbers each, got none")
    return vectors


def encoder_vectors(name: str | Path, words: Sequence[str], dimensions: int) -> np.ndarray:
    """The mean of an encoder's last hidden states of each word by itself, reduced by PCA, scaled to length 1: (V, d).

    Source: static embeddings from a sentence encoder (Model2Vec, without its word weights).
    """
    import torch
    from sklearn.decomposition import PCA
    from transformers import AutoModel

    tokenizer = open_tokenizer(name)
    model = open_pretrained(AutoModel, name).float().eval()
    means = np.empty((len(words), model.config.hidden_size), np.float32)
    order = sorted(range(len(words)), key=lambda i: (len(words[i]), words[i]))  # little padding
    with torch.inference_mode():
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            batch = tokenizer([words[i] for i in chosen], padding=True, truncation=True, return_tensors="pt")
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"][:, :, None].float()
            means[chosen] = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    vectors = PCA(dimensions, svd_solver="covariance_eigh").fit_transform(means)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
