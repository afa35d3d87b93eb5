"""Models as graphs for OpenVINO and ONNX Runtime: `export` writes them, `runtime` ranks with them, without torch."""

import hashlib
import json
import os
from importlib.util import find_spec
from pathlib import Path

from as2lib.paths import work_folder

BACKENDS = {
    "openvino": ("openvino", "nncf"),
    "onnx": ("onnxruntime", "nncf"),
}  # in the order they are tried: what it runs with, what int8 needs
FACTS = "serve.json"  # in an exported folder: how it is to be read


def installed(backend: str) -> bool:
    """Whether a backend can run here."""
    return find_spec(BACKENDS[backend][0]) is not None


def check(backend: str, *packages: str) -> None:
    """Raises ValueError for a backend that is not known, or for a package that is not installed."""
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected one of torch, {', '.join(BACKENDS)}; got {backend!r}")
    if absent := [name for name in packages or BACKENDS[backend][:1] if find_spec(name) is None]:
        raise ValueError(f'{backend} needs {", ".join(absent)}, which is not installed: pip install "as2lib[serve]"')


def find(folder: Path, backend: str | None, max_length: int | None = None) -> Path | None:
    """The exported folder that ranks for a model folder, or for itself; None where torch does.

    A backend that is asked for gets the model in float32 where `folder` holds no export of it: made once, kept in
    `work/served/`.
    Raises ValueError for another backend than `folder` was exported to, and as `check`.
    """
    if (folder / FACTS).exists():
        its = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if backend not in (None, its["backend"]) or max_length not in (None, its["max_length"]):
            given = f"{its['backend']}, {its['max_length']} tokens a pair"
            raise ValueError(f"{folder} was exported for {given}; asked for {backend}, {max_length}: export it anew")
        return folder
    if backend in (None, "torch"):
        beside = (name for name in BACKENDS if installed(name) and (folder / name / FACTS).exists())
        return None if backend or max_length else next((folder / name for name in beside), None)
    check(backend)
    if (folder / backend / FACTS).exists() and max_length is None:
        return folder / backend
    from as2lib.serve.export import export

    files = sorted(path for path in folder.resolve().iterdir() if path.is_file())
    seen = [str(max_length), *(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)]
    kept = work_folder() / "served" / f"{hashlib.sha256(os.linesep.join(seen).encode()).hexdigest()[:24]}-{backend}"
    if not (kept / FACTS).exists():  # which is written last
        export(folder, kept, backend, max_length=max_length)
    return kept
