"""What the hub has for us: what its cache holds, and whether it answers; knows no data set and no model."""

from functools import cache
from pathlib import Path

from huggingface_hub import constants

from as2lib.paths import local_file


def cached_config(name: str, revision: str = "main") -> Path | None:
    """The config.json of a model in the hub's cache, beside its other files; None where it is not there."""
    path = _folder(name) / "snapshots" / (cached_commit(name, revision) or revision) / "config.json"
    return path if path.exists() else None


def cached_commit(name: str, revision: str = "main") -> str | None:
    """What the cache has for a model's branch or tag."""
    reference = _folder(name) / "refs" / revision
    return reference.read_text(encoding="utf-8").strip() if reference.exists() else None


@cache
def commit(name: str, revision: str) -> str | None:
    """The commit that a model's revision stands for: as given, as the cache has it, or as the hub says."""
    if len(revision) == 40 and set(revision) <= set("0123456789abcdef"):
        return revision
    if known := cached_commit(name, revision):
        return known
    if constants.HF_HUB_OFFLINE or not answers():
        return None
    from huggingface_hub import HfApi

    try:
        return HfApi().model_info(name, revision=revision, timeout=10).sha
    except Exception:  # no such name, no right to it, no network: each client has errors of its own
        return None


@cache
def answers() -> bool:
    """Whether the hub answers within five seconds, or need not, offline."""
    if constants.HF_HUB_OFFLINE:
        return True
    from huggingface_hub import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except Exception:  # no network: each client has errors of its own
        return False
    return True


def why_not(name: str, revision: str = "main") -> str:
    """Why a model can't be had, in a few words; "" where the cache has it, or the hub answers."""
    if cached_config(name, revision) or (answers() and not constants.HF_HUB_OFFLINE):
        return ""
    state = "is not asked (HF_HUB_OFFLINE)" if constants.HF_HUB_OFFLINE else "does not answer"
    return f"not in the hub's cache, and the hub {state}; {local_file()} can map a name to a folder"


def _folder(name: str) -> Path:
    return Path(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}")
