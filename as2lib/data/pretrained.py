"""What lies in a model's folder or on the hub, and how it is opened: without ever running code that lies there."""

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib import hub
from as2lib.paths import file_sha256, model_origin

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

EXPORTED = "export.json"  # in a folder that `as2lib.export` wrote: what it is


def folder_of(name: str | Path) -> Path:
    """Where a model's files are: its folder, or that of its hub name in the hub's cache, where they are fetched to.

    Raises FileNotFoundError where it is no folder here, is in no cache, and can't come from the hub.
    """
    origin, revision = model_origin(name)
    return origin if isinstance(origin, Path) else hub.folder(origin, revision)


def open_pretrained(auto: Any, name: str | Path, **options: Any) -> Any:
    """`auto.from_pretrained` of a folder or a hub name, the one place of the library that calls it.

    Raises ValueError, in one line that names the model, for whatever can't be opened: also where a folder brings
    Python of its own, about which transformers would ask on standard input, or names a function of another's.
    """
    folder = folder_of(name)
    if (folder / "adapter_config.json").exists():
        raise ValueError(f"{name}: expected whole weights, got an adapter; merge it first (PeftModel.merge_and_unload)")
    try:
        read_config(folder)
        return auto.from_pretrained(folder, trust_remote_code=False, **options)
    except Exception as error:  # of any kind: libraries parse what is there
        line = str(error).strip().partition("\n")[0]
        if "trust_remote_code" in str(error):
            line = "expected a model that transformers has, got Python of its own (auto_map), which is never run"
        if "weights_only" in str(error):
            line = "expected weights alone, got a pickle that holds code, which is never run; take model.safetensors"
        raise ValueError(f"{name}: can't be loaded: {line}") from None


def open_tokenizer(name: str | Path) -> "PreTrainedTokenizerBase":
    """The tokenizer of a model.  Raises ValueError where it is not whole: transformers would make one of no words."""
    from transformers import AutoTokenizer

    folder = folder_of(name)
    if hub.NO_TOKENIZER in hub.missing(folder):
        raise ValueError(f"{name}: expected {hub.NO_TOKENIZER} in {folder}, got none; copy it there")
    models = [path.name for path in folder.glob("*.model")]
    if models and not (folder / "tokenizer.json").exists() and find_spec("sentencepiece") is None:
        way = 'install it (pip install -e ".[sentencepiece]" in the clone)'
        raise ValueError(f"{name}: expected the package sentencepiece, which reads its tokenizer {models[0]}; {way}")
    tokenizer, config = open_pretrained(AutoTokenizer, name), read_config(folder)
    words = config.get("vocab_size", config.get("backbone", {}).get("vocab_size"))
    if words is not None and not words / 4 < len(tokenizer) <= words:  # a model may have room for more
        raise ValueError(f"{name}: expected a vocabulary of {words}, as its model has, got one of {len(tokenizer)}")
    return tokenizer


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of a model's config.json; none where it has no such file.

    Raises ValueError where one names a kernel of the hub, `org/repo:function`, which is another's code.
    """

    def own(fields: dict[str, Any]) -> dict[str, Any]:
        for key, value in fields.items():
            if "_implementation" in key and "/" in str(value):
                raise ValueError(f"{key}: expected a name of transformers, got {value!r:.60}, code that is never run")
        return fields

    file = folder / "config.json"
    return json.loads(file.read_text(encoding="utf-8"), object_hook=own) if file.exists() else {}


def require_whole(name: str | Path) -> Path:
    """The folder of a model that has all its parts.  Raises ValueError that names what is missing, or does not fit."""
    folder = folder_of(name)
    if parts := hub.missing(folder):
        raise ValueError(f"{name}: expected {', '.join(parts)} in {folder}, got none; copy them there")
    open_tokenizer(name)
    return folder


def content(name: str | Path) -> str:
    """What a model is, whatever its name: the SHA-256 of its folder's files, or the commit of a hub name."""
    folder = folder_of(name)
    if not isinstance(model_origin(name)[0], Path):
        return folder.name
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()
