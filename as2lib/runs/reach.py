"""What a study needs from the hub, and whether it can be had: asked once, before anything is trained."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from as2lib.data import sources
from as2lib.paths import model_origin

if TYPE_CHECKING:
    from as2lib.runs.store import Store


def encoder_at_hand(name: str) -> bool:
    """Whether an encoder's files are here: a folder, one that local.yaml maps, or what the hub gave before."""
    from huggingface_hub import try_to_load_from_cache

    origin, revision = model_origin(name)
    if isinstance(origin, Path):
        return (origin / "config.json").exists()
    return isinstance(try_to_load_from_cache(origin, "config.json", revision=revision), str)


def require_within_reach(store: "Store", names: list[str]) -> None:
    """Nothing where all that these runs read is here, or the hub answers.

    Raises FileNotFoundError in one line that names what is missing, or what a path that is not there is for.
    """
    parts: dict[str, None] = {}
    encoders: dict[str, None] = {}
    for run in map(store.planned, names):
        parts |= dict.fromkeys(part for several in run.data.values() for part in several)
        origins = (run.spec.get("backbone", {}), run.spec.get("words", {}).get("vectors", {}))
        encoders |= dict.fromkeys(one["name"] for one in origins if "name" in one and one.get("source") != "file")
    wanted = dict.fromkeys(
        sources.resolve(*sources.split_part(part)).name for part in parts if not _pairs_at_hand(part)
    )
    wanted |= dict.fromkeys(name for name in encoders if not encoder_at_hand(name))
    if wanted and not sources.hub_answers():
        raise sources.NotHere(
            f"study {store.study.study} needs {', '.join(wanted)}: not on this machine, and the hub does not answer; "
            f'map each to a folder under "local:" in params/local.yaml, or try again with a network'
        )


def _pairs_at_hand(part: str) -> bool:
    location = sources.resolve(*sources.split_part(part))
    if location.kind == "built":
        return bool(location.files) or _in_cache(sources.BUILT[location.name])
    return location.kind != "hub" or _in_cache(location.name)


def _in_cache(hub_name: str) -> bool:
    from huggingface_hub import constants

    cache = os.environ.get("HF_DATASETS_CACHE") or Path(constants.HF_HOME) / "datasets"
    return Path(cache, hub_name.replace("/", "___").lower()).exists()
