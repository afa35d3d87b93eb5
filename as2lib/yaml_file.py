"""Reads a YAML file of keys and values, each key once; knows nothing of what the keys mean."""

import re
from pathlib import Path
from typing import Any

import yaml


def read(path: Path, empty: bool = False) -> dict[str, Any]:
    """The keys of a YAML file; none of an empty one where `empty` allows it.

    Raises ValueError, in one line that names the file and where it has one the line, for what is not YAML, a key given
    twice, a tag, and anything but keys at the top.
    """
    try:
        content = yaml.load(path.read_bytes(), Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path.name}, line {mark.line + 1}" if mark else path.name
        raise ValueError(f"{where}: expected YAML, got {_one_line(error.problem or error.context)}") from None
    except yaml.reader.ReaderError as error:
        came = f"the character #x{error.character:x}" if isinstance(error.character, int) else str(error.character)
        if isinstance(error.character, bytes):
            came = f"the byte 0x{error.character.hex()}"
        raise ValueError(f"{path.name}: expected UTF-8 text, got {came}; save the file as UTF-8") from None
    except RecursionError:
        raise ValueError(f"{path.name}: expected keys and values, got ones nested too deeply to be read") from None
    except (ValueError, LookupError, AttributeError, TypeError) as error:  # of a date, or under a tag, that is none
        raise ValueError(f"{path.name}: expected YAML, got {_one_line(error)}; put text between quotes") from None
    if content is None and empty:
        return {}
    if not isinstance(content, dict):
        came = "an empty file" if content is None else f"a {type(content).__name__}"
        raise ValueError(f"{path.name}: expected keys and values, such as title: mine, got {came}")
    return content


def _one_line(problem: Any) -> str:
    return " ".join(str(problem).split())


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice and half a character; and 1e-3, text in YAML 1.1, is a number."""

    def compose_scalar_node(self, anchor: str | None) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if not node.value.isprintable() and any("\ud800" <= character <= "\udfff" for character in node.value):
            raise yaml.composer.ComposerError(None, None, "half a character, as \\ud800", node.start_mark)
        return node

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node, given = super().compose_mapping_node(anchor), set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if (key.tag, key.value) in given:
                raise yaml.composer.ComposerError(None, None, f"the key {key.value!r} twice", key.start_mark)
            given.add((key.tag, key.value))
        return node


NUMBER = re.compile(r"^[-+]?(?:\d+(?:\.\d*)?|\.\d+)[eE][-+]?\d+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+0123456789."))
