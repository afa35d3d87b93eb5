"""What a run's data, encoder and word vectors are, as hashes of their content: found without loading them."""

from typing import Any

from as2lib.data import sources
from as2lib.paths import find_root, model_origin

VECTORS_VERSION = 1  # of `data.embeddings`: raise it when the same source and corpus would give other vectors
WEIGHT_FILES = ("config.json", "*.safetensors", "*.bin", "tokenizer*", "vocab*", "merges.txt", "*.model")


def data_identity(part: str) -> Any:
    """The identity of one `source:split` part, without loading it."""
    return sources.identity(*sources.split_part(part))


def weights_identity(name: str) -> Any:
    """The identity of a pretrained encoder: its files' SHA-256 where they are local, else hub name and revision."""
    origin, revision = model_origin(name)
    if isinstance(origin, str):
        return {"hub": origin, "revision": revision}
    files = sorted({path for pattern in WEIGHT_FILES for path in origin.glob(pattern)})
    return {path.name: sources.file_sha256(path) for path in files}


def vectors_identity(vectors: dict[str, Any]) -> Any:
    """The identity of a source of word vectors: the encoder's files, the file's SHA-256, or the method's version."""
    version = {"version": VECTORS_VERSION}
    if vectors["source"] == "encoder":
        return version | {"weights": weights_identity(vectors["name"])}
    return version | ({"sha256": sources.file_sha256(find_root() / vectors["name"])} if "name" in vectors else {})
