"""What the hub has for us: a model's files, in its cache, and never a wait without end; knows no data set."""

import json
import re
import sys
from functools import cache
from pathlib import Path

from huggingface_hub import constants

from as2lib.paths import local_file

HUB_NAME = re.compile(r"(?a)(?=.{1,96}$)(?!.*(--|\.\.))\w([\w.-]*\w)?(/\w([\w.-]*\w)?)?")  # as the hub has them
MODEL_FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]  # what a model is read from
WEIGHT_FILES = ("*.safetensors", "*.bin")
TOKENIZERS = (("tokenizer.json",), ("vocab.txt",), ("vocab.json", "merges.txt"), ("*.model",), ("vocabulary.json",))
NO_TOKENIZER = "a tokenizer (tokenizer.json, vocab.txt, vocab.json with merges.txt, or *.model)"
TIMEOUT = 10  # without a byte, after which the hub is given up


def folder(name: str, revision: str = "main") -> Path:
    """The folder of a model in the hub's cache, which is fetched where a part of it is missing.

    Raises FileNotFoundError that says in one line why it can't be had.
    """
    config = cached_config(name, revision)
    if config and not missing(config.parent):
        return config.parent
    why = "is not asked (HF_HUB_OFFLINE)" if constants.HF_HUB_OFFLINE else refusal(name, revision)
    if not why:
        return _fetched(name, revision)
    if config:  # what is missing of it is said where it is opened
        return config.parent
    way_out = f"{local_file()} can map a name to a folder"
    raise FileNotFoundError(f"{name}: no folder of that name, not in the hub's cache, and the hub {why}; {way_out}")


def refusal(name: str, revision: str, kind: str = "model") -> str:
    """What the hub says in place of a model, or a dataset: "does not answer", …; "" where it would send it.

    Asked before a library asks it, whose own questions wait for minutes, or for ever.
    """
    if not HUB_NAME.fullmatch(name):
        return "could have none"
    if not answers():
        return "does not answer"
    from huggingface_hub import HfApi, errors, get_hf_file_metadata, hf_hub_url

    try:
        HfApi().repo_info(name, revision=revision, repo_type=kind, timeout=TIMEOUT)
        get_hf_file_metadata(hf_hub_url(name, "config.json", revision=revision, repo_type=kind), timeout=TIMEOUT)
    except errors.EntryNotFoundError:  # an answer, too
        return ""
    except errors.RevisionNotFoundError:
        return f"has no revision {revision!r} of it"
    except (errors.RepositoryNotFoundError, errors.GatedRepoError):  # which are one to who may not know
        return f"has no such {kind}, or none for you: a private or gated one takes a token (HF_TOKEN)"
    except Exception as error:  # each client has errors of its own
        return f"does not send it ({type(error).__name__})"
    return ""


def missing(folder: Path) -> list[str]:
    """What a model's folder lacks of config.json, weights (all their files) and a tokenizer."""

    def has(pattern: str) -> bool:
        return any(folder.glob(pattern))

    files = {"config.json"}
    for index in folder.glob("*.safetensors.index.json"):
        files |= {*json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()}
    lines = sorted(file for file in files if not has(file))
    if not any(map(has, WEIGHT_FILES)):
        lines.append("weights (model.safetensors)")
    if not any(all(map(has, files)) for files in TOKENIZERS):
        lines.append(NO_TOKENIZER)
    return lines


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
    if constants.HF_HUB_OFFLINE or not answers():
        return None
    from huggingface_hub import HfApi

    try:
        return HfApi().model_info(name, revision=revision, timeout=TIMEOUT).sha
    except Exception:  # no such name, no right to it, no network: each client has errors of its own
        return None


@cache
def answers() -> bool:
    """Whether the hub answers, or need not, offline."""
    if constants.HF_HUB_OFFLINE:
        return True
    from huggingface_hub import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=TIMEOUT / 2)
    except Exception:  # no network: each client has errors of its own
        return False
    return True


def _fetched(name: str, revision: str) -> Path:
    from huggingface_hub import snapshot_download

    print(f"as2: {name} is fetched from the hub", file=sys.stderr, flush=True)
    path = Path(snapshot_download(name, revision=revision, allow_patterns=MODEL_FILES, ignore_patterns="*/*"))
    if not any(path.glob(WEIGHT_FILES[0])):
        patterns = [*MODEL_FILES, WEIGHT_FILES[1]]
        path = Path(snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns="*/*"))
    return path
