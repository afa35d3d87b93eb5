"""The card (`README.md`) of a model that a command makes: what it is, what it learnt from, how to use it; no clock."""

import re
from html import escape
from pathlib import Path
from typing import Any

from as2lib.paths import find_root

TEMPLATE = Path(__file__).with_suffix(".md")


def write_card(folder: Path, title: str, what: str, facts: dict[str, Any], base_model: str | None = None) -> None:
    """Write README.md into a model's folder.

    what: a sentence that says what the model is.  facts: the rows of its table; those without a value are left out.
    base_model: the encoder that it was made from; a hub name goes into the metadata, a folder does not.
    """
    from huggingface_hub import ModelCard, ModelCardData

    hub_name = None if base_model is None or is_folder(base_model) else base_model.partition("@")[0]
    tags = ["answer-sentence-selection"]
    data = ModelCardData(library_name="transformers", pipeline_tag="text-ranking", tags=tags, base_model=hub_name)
    rows = "\n".join(f"| {name} | {markdown(value)} |" for name, value in facts.items() if value not in (None, "", []))
    card = ModelCard.from_template(data, str(TEMPLATE), title=markdown(title), what=what, rows=rows)
    (folder / "README.md").write_text(f"{card}\n", encoding="utf-8", errors="replace")


def markdown(text: object) -> str:
    """A text for a line of Markdown, also in a table's cell: no markup, no link, no HTML."""
    line = " ".join(escape(str(text), quote=False).split())
    return re.sub(r"[\\`*\[\]|]", lambda match: f"&#{ord(match[0])};", line)


def short_name(name: str) -> str:
    """An encoder's name without the folders of this machine."""
    return Path(name).name if is_folder(name) else name


def is_folder(name: str | Path) -> bool:
    return (find_root() / name).is_dir() or Path(name).expanduser().is_dir()
