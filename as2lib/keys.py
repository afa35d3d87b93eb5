"""Reads the keys of a YAML file that anybody may have written; knows no study."""

import re
from pathlib import Path
from typing import Any

import yaml

BYTES, VALUES, LEVELS = 1_000_000, 50_000, 40  # of a file at most; a study has some hundreds of values
EXPONENT_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")


def read_yaml(path: Path, name: str = "", empty: dict[str, Any] | None = None) -> dict[str, Any]:
    """The keys of a YAML file.  Raises ValueError, in one line that names the file, where it has none.

    name: what errors call it, in place of its own.  empty: what a file without a value has; None: it is refused.
    """
    name = name or path.name
    if path.stat().st_size > BYTES:
        raise ValueError(f"{name}: expected at most {BYTES:,} bytes, got {path.stat().st_size:,}")
    try:
        content = with_numbers(yaml.load(path.read_bytes(), Loader=_Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = " ".join(str(error).split()) if not isinstance(error, RecursionError) else "too many levels"
        line = line.replace(' in "<byte string>",', " at").removesuffix(" ^")
        raise ValueError(f"{name}: expected YAML, got {line}") from None
    content = empty if content is None else content
    if not isinstance(content, dict):
        raise ValueError(f"{name}: expected keys and values, such as title: mine, got {content!r:.60}")
    return content


def with_numbers(content: Any) -> Any:
    """What YAML has, with numbers such as 1e-3, which are text in YAML 1.1.

    Raises ValueError for more than `VALUES`, or deeper than `LEVELS`: a few aliases stand for any number of them.
    """
    count = 0

    def plain(value: Any, level: int) -> Any:
        nonlocal count
        count += 1
        if count > VALUES or level > LEVELS:
            raise ValueError(f"more than {VALUES:,} values, or {LEVELS} levels")
        if isinstance(value, dict):
            return {key: plain(item, level + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item, level + 1) for item in value]
        return float(value) if isinstance(value, str) and EXPONENT_NUMBER.fullmatch(value) else value

    return plain(content, 0)


class _Loader(yaml.SafeLoader):
    """Safe YAML whose keys are plain, given once, and merged from one map (<<) at a time."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A map.  Raises ConstructorError for a key that is no plain value, or that stands twice."""
        keys = set()
        for key, value in node.value:
            problem = None
            if not isinstance(key, yaml.ScalarNode):
                problem = "a list or a map as a key; a text with braces stands in quotes"
            elif key.value in keys:
                problem = f"the key {key.value!r} twice"
            elif key.value == "<<" and isinstance(value, yaml.SequenceNode):
                problem = "several maps merged into one"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)
