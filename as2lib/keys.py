"""Reads the keys of a YAML file that anybody may have written; knows no study."""

import re
from pathlib import Path
from typing import Any

import yaml

EXPONENT_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")


def read_yaml(path: Path, name: str = "", empty: dict[str, Any] | None = None) -> dict[str, Any]:
    """The keys of a YAML file.  Raises ValueError, in one line that names the file, where it has none.

    name: what errors call it, in place of its own.  empty: what a file without a value has; None: it is refused.
    """
    try:
        content = with_numbers(yaml.safe_load(path.read_bytes()))
    except yaml.YAMLError as error:
        raise ValueError(f"{name or path.name}: expected YAML, got {' '.join(str(error).split())}") from None
    content = empty if content is None else content
    if not isinstance(content, dict):
        raise ValueError(f"{name or path.name}: expected keys and values, such as title: mine, got {content!r:.60}")
    return content


def with_numbers(value: Any) -> Any:
    """What YAML has, with numbers such as 1e-3, which are text in YAML 1.1."""
    if isinstance(value, dict):
        return {key: with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and EXPONENT_NUMBER.fullmatch(value) else value
