"""A model's files in the cache of huggingface_hub, or from the hub itself; knows no data set."""

import re
import sys
from functools import cache
from pathlib import Path

import huggingface_hub  # which imports its parts when they are first used

FILES = ["*.json", "*.txt", "*.model"]  # what a model is read from, beside its weights
WEIGHTS = ("*.safetensors", "*.bin")  # the second are fetched where there are none of the first


def folder(name: str, revision: str = "main") -> Path:
    """The folder of a model in the hub's cache, fetched where no weights are there.

    Raises FileNotFoundError where the hub sends none.
    """
    config = cached_config(name, revision)
    if config and any(any(config.parent.glob(weights)) for weights in WEIGHTS):
        return config.parent
    print(f"as2: the hub is asked for {name}", file=sys.stderr, flush=True)
    below = [f"[!0-9]*/{weights}" for weights in WEIGHTS]  # but of `2_Dense` and the like
    try:
        for weights in WEIGHTS:
            patterns = {"allow_patterns": [*FILES, weights], "ignore_patterns": below}
            path = Path(huggingface_hub.snapshot_download(name, revision=revision, **patterns))
            if any(path.glob(weights)):
                break
    except Exception as error:  # each client has errors of its own
        reason = " ".join(str(error).split())
        raise FileNotFoundError(f"{name}: no folder of that name, and none from the hub: {reason}") from error
    return path


def cached_config(name: str, revision: str = "main") -> Path | None:
    """The config.json of a model in the hub's cache, beside its other files; None where it is not there."""
    try:
        path = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision)
    except ValueError:  # no name as the hub has them
        return None
    return Path(path) if isinstance(path, str) else None


@cache
def commit(name: str, revision: str) -> str | None:
    """The commit that a model's revision stands for: as given, as the cache has it, or as the hub says."""
    if re.fullmatch("[0-9a-f]{40}", revision):
        return revision
    if config := cached_config(name, revision):
        return config.parent.name
    try:
        return huggingface_hub.HfApi().model_info(name, revision=revision, timeout=10).sha
    except Exception:  # no such name, no right to it, no network: each client has errors of its own
        return None
