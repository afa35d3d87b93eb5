"""What lies in a model's folder or on the hub, and how it is opened: without ever running code that lies there."""

import json
import re
from pathlib import Path
from typing import Any

from as2lib import hub
from as2lib.paths import model_origin

EXPORTED = "export.json"  # in a folder that `as2lib.export` wrote: what it is


def folder_of(name: str | Path) -> Path:
    """Where a model's files are: its folder, or that of its hub name in the hub's cache, where they are fetched to.

    Raises FileNotFoundError where it is no folder here, is in no cache, and can't come from the hub.
    """
    origin, revision = model_origin(name)
    return origin if isinstance(origin, Path) else hub.folder(origin, revision)


def open_pretrained(auto: Any, name: str | Path, **options: Any) -> Any:
    """`auto.from_pretrained` of a folder or a hub name, the one place of the library that calls it.

    Raises as `read_config`, and what transformers raises, also where a folder brings Python of its own.
    """
    folder = folder_of(name)
    read_config(folder)
    return auto.from_pretrained(folder, trust_remote_code=False, **options)


def open_tokenizer(name: str | Path) -> Any:
    """The tokenizer of a model.  Raises ValueError where it is not whole: transformers would make one of no words."""
    from transformers import AutoTokenizer

    tokenizer, config = open_pretrained(AutoTokenizer, name), read_config(folder_of(name))
    words = config.get("vocab_size", config.get("backbone", {}).get("vocab_size"))
    if words is not None and not words / 4 < len(tokenizer) <= words:  # a model may have room for more
        got = f"got one of {len(tokenizer)}; copy its tokenizer's files there"
        raise ValueError(f"{name}: expected a vocabulary of {words}, as its model has, {got}")
    return tokenizer


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of a model's config.json; none where it has no such file.

    Raises ValueError for an adapter; and where one names a kernel of the hub, `org/repo:function`, another's code.
    """
    if (folder / "adapter_config.json").exists():
        raise ValueError(f"{folder}: expected whole weights, got an adapter; merge it by PeftModel.merge_and_unload")
    file = folder / "config.json"
    text = file.read_text(encoding="utf-8") if file.exists() else "{}"
    if kernel := re.search(r'_implementation[^"]*"\s*:\s*"[^"]*/[^"]*"', text):
        raise ValueError(f"{file}: expected a name of transformers, got {kernel[0]}, code that is never run")
    return json.loads(text)
