"""What a pretrained encoder is known by, whatever file and folder holds it; loads no model."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from as2lib import hub
from as2lib.data.pretrained import folder_of
from as2lib.paths import file_at, file_sha256, model_origin

# Encoders known by their tensors (`tensors_fingerprint`), whatever file and folder holds them.
KNOWN_TENSORS = {
    "sentence-transformers/all-MiniLM-L6-v2": "b73b902c14041882f5a35215f7933bf4e5d523c3a420b61da7708f76b8ec99c2",
    "sentence-transformers/all-mpnet-base-v2": "01adf25e54281b5106c84e9f03a97b7e10f0fc999c017323231ed5e97056615e",
}
ENCODER_FILES = ("config.json", "*.bin", "tokenizer*", "vocab*", "merges.txt", "*.model")


def encoder_identity(name: str) -> dict[str, Any]:
    """A known encoder's name and fingerprint, a hub name at its commit, or what is in a folder.

    {"hub", "revision"} where it is neither here nor to be asked for at the hub.
    """
    if name in KNOWN_TENSORS:
        return {"name": name, "tensors": KNOWN_TENSORS[name]}
    if (file := file_at(name)).is_file():
        return {"sha256": file_sha256(file)}
    origin, revision = model_origin(name)
    if isinstance(origin, Path):
        return _folder_identity(origin)
    commit = hub.commit(origin, revision)
    return {"hub": origin, "commit": commit} if commit else {"hub": origin, "revision": revision}


@cache
def _folder_identity(folder: Path) -> dict[str, Any]:
    """The fingerprint of its tensors, and the SHA-256 of the files that say how they and texts are read."""
    files = sorted({path for pattern in ENCODER_FILES for path in folder.glob(pattern)})
    identity = {path.name: file_sha256(path) for path in files}
    for path in sorted(folder.glob("*.safetensors")):
        identity[path.name] = tensors_fingerprint(path)
    return identity


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


@cache
def require_known_tensors(name: str) -> None:
    """Raises ValueError where the weights of a known encoder are not those that this study knows by its name."""
    known = KNOWN_TENSORS.get(name)
    if known and tensors_fingerprint(file := folder_of(name) / "model.safetensors") != known:
        expected = f"expected the weights of fingerprint {known[:12]}, got others in {file}"
        raise ValueError(f"{name}: {expected}; give another version a path or name of its own")
