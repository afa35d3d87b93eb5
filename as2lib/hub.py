"""A model's files in the cache of huggingface_hub, or from the hub itself; knows no data set."""

import re
import sys
from functools import cache
from pathlib import Path

HUB_NAME = re.compile(r"(?a)(?=.{1,96}$)(?!.*(--|\.\.))\w([\w.-]*\w)?(/\w([\w.-]*\w)?)?")  # as the hub has them
FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]  # what a model is read from
OTHER_WEIGHTS = "*.bin"  # fetched where there are no safetensors


def folder(name: str, revision: str = "main") -> Path:
    """The folder of a model in the hub's cache, fetched where no weights are there.

    Raises FileNotFoundError where the hub sends none.
    """
    config = cached_config(name, revision)
    if config and any([*config.parent.glob(FILES[-1]), *config.parent.glob(OTHER_WEIGHTS)]):
        return config.parent
    from huggingface_hub import snapshot_download

    print(f"as2: the hub is asked for {name}", file=sys.stderr, flush=True)
    try:
        for patterns in (FILES, [*FILES, OTHER_WEIGHTS]):
            others = [f"*/{weights}" for weights in (FILES[-1], OTHER_WEIGHTS)]
            path = Path(snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=others))
            if any(path.glob(patterns[-1])):
                break
    except Exception as error:  # each client has errors of its own
        reason = " ".join(str(error).split())
        raise FileNotFoundError(f"{name}: no folder of that name, and none from the hub: {reason}") from error
    return path


def cached_config(name: str, revision: str = "main") -> Path | None:
    """The config.json of a model in the hub's cache, beside its other files; None where it is not there."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(name, "config.json", revision=revision) if HUB_NAME.fullmatch(name) else None
    return Path(path) if isinstance(path, str) else None


@cache
def commit(name: str, revision: str) -> str | None:
    """The commit that a model's revision stands for: as given, as the cache has it, or as the hub says."""
    if re.fullmatch("[0-9a-f]{40}", revision):
        return revision
    if config := cached_config(name, revision):
        return config.parent.name
    from huggingface_hub import HfApi

    try:
        return HfApi().model_info(name, revision=revision, timeout=10).sha
    except Exception:  # no such name, no right to it, no network: each client has errors of its own
        return None
