"""What a run's data, encoder and word vectors are, as hashes of their content: found without loading them."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from as2lib.data import sources
from as2lib.paths import find_root, model_origin

VECTORS_VERSION = 1  # of `data.embeddings`: raise it when the same source and corpus would give other vectors
# Encoders known by their tensors (`tensors_fingerprint`), whatever file and folder holds them.
TENSORS = {
    "sentence-transformers/all-MiniLM-L6-v2": "b73b902c14041882f5a35215f7933bf4e5d523c3a420b61da7708f76b8ec99c2",
}
WEIGHT_FILES = ("config.json", "*.safetensors", "*.bin", "tokenizer*", "vocab*", "merges.txt", "*.model")


def data_identity(part: str) -> Any:
    """The identity of one `source:split` part, without loading it."""
    return sources.identity(*sources.split_part(part))


def weights_identity(name: str) -> Any:
    """The identity of a pretrained encoder: of a known one its name and the fingerprint of its tensors, else its files'
    SHA-256 where they are local, or hub name and revision."""
    if name in TENSORS:
        return {"name": name, "tensors": TENSORS[name]}
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


@cache
def check_tensors(name: str) -> None:
    """Raises ValueError where the weights of a known encoder are not those that this study knows by its name."""
    if name in TENSORS:
        from transformers.utils import cached_file

        origin, revision = model_origin(name)
        file = cached_file(origin, "model.safetensors", revision=revision)
        if (came := tensors_fingerprint(file)) != TENSORS[name]:
            raise ValueError(
                f"{name}: expected the weights of fingerprint {TENSORS[name][:12]}, got {came[:12]} in {origin}; "
                "give another version a path or name of its own"
            )


def tensors_fingerprint(file: str | Path) -> str:
    """The SHA-256 of the tensors in a safetensors file: of their names, types, shapes and bytes, by name."""
    from safetensors import safe_open

    total = sha256()
    with safe_open(file, "numpy") as stored:
        for name in sorted(stored.keys()):
            tensor = stored.get_tensor(name)
            total.update(f"{name} {tensor.dtype} {list(tensor.shape)} ".encode())
            total.update(tensor.tobytes())
    return total.hexdigest()
