"""What lies in a model's folder or on the hub, and how it is opened: without ever running code that lies there."""

from pathlib import Path
from typing import Any

from as2lib.data.sets import hub_answers, loadable
from as2lib.paths import model_origin

EXPORTED = "export.json"  # in a folder that `as2lib.export` wrote: what it is


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


def require_at_hand(name: str | Path) -> None:
    """Raises FileNotFoundError where a model is no folder here, is in no cache, and can't come from the hub."""
    from huggingface_hub import constants, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    origin, revision = model_origin(name)
    if Path(origin).is_dir():
        return
    try:
        cached = try_to_load_from_cache(str(origin), "config.json", revision=revision)
    except HFValidationError:
        raise FileNotFoundError(f"{name}: no folder of that name, and no name that the hub could have") from None
    if not isinstance(cached, str) and (constants.HF_HUB_OFFLINE or not hub_answers()):
        away = "is not asked (HF_HUB_OFFLINE)" if constants.HF_HUB_OFFLINE else "does not answer"
        raise FileNotFoundError(f"{name}: no folder of that name, not in the hub's cache, and the hub {away}")


def is_exported(name: str | Path) -> bool:
    """Whether a name is that of a folder that `as2lib.export` wrote."""
    return (Path(model_origin(name)[0]) / EXPORTED).exists()
