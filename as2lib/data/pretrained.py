"""Opens what was saved in a folder or on the hub by transformers' auto classes; never runs code that lies there."""

from pathlib import Path
from typing import Any

from as2lib.data.sets import loadable


def open_pretrained(auto: Any, name: str | Path, **options: Any) -> Any:
    """`auto.from_pretrained` of a folder or a hub name, the one place of the library that calls it.

    auto: one of transformers' auto classes.  options: what it takes, beside the revision.
    Raises ValueError, in one line that names the folder, for whatever can't be opened: also where a folder brings
    Python of its own, about which transformers would ask on standard input.
    """
    origin, revision = loadable(name)
    try:
        return auto.from_pretrained(origin, revision=revision, trust_remote_code=False, **options)
    except Exception as error:  # of any kind: libraries parse what is there
        line = str(error).strip().partition("\n")[0]
        if "trust_remote_code" in str(error):
            line = (
                "expected a model that transformers has, got one with Python of its own (auto_map), which is never run"
            )
        raise ValueError(f"{origin}: can't be loaded: {line}") from None
