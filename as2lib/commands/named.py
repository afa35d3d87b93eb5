"""What a command's MODEL means: what is on disk first, then a run of a study, then what `Ranker.load` knows by name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.data.pretrained import folder_of
from as2lib.data.sets import note
from as2lib.models import DEFAULT_ENCODER, NOTHING
from as2lib.paths import expanded
from as2lib.ranker import Ranker, only_orders

if TYPE_CHECKING:
    from as2lib.study import Study
    from as2lib.study.store import StoredRun

LoadStudy = Callable[[], "Study"]  # called only where a name may be that of a run


def load_ranker(name: str, load_study: LoadStudy, **settings: Any) -> Ranker:
    """The ranker of a name; a line says where its scores are no probabilities.  settings: of `Ranker.load`, or None."""
    settings = {key: value for key, value in settings.items() if value is not None}
    ranker = Ranker.load(model_of(name, load_study), **settings)
    note(f"{name} computes in {ranker.precision} on {ranker.device}")
    if not ranker.is_probability:
        note("scores order the candidates of a question; they are no probabilities")
    return ranker


def model_of(name: str, load_study: LoadStudy) -> str | Path:
    """Where the model of a name is: its folder, that of a study's run, or itself.  Raises as `require_made`."""
    folder = expanded(name)
    if os.path.isdir(folder):  # of no name too long for a file either
        return folder
    if only_orders(name) or name not in (study := load_study()).plan:
        return name
    if study.plan[name].kind == "fit":
        require_made(study, name, model=True)
    return study.model(name)


def run_of(name: str, load_study: LoadStudy) -> "StoredRun":
    """A study's run with its scores.  Raises as `require_made`."""
    study = load_study()
    require_made(study, name, model=False)
    return study.run(name)


def require_made(study: "Study", name: str, model: bool) -> None:
    """Raises FileNotFoundError where fits are to be made before a run, or its model, is there: for hours, perhaps."""
    from as2lib.study import estimate

    missing = [study.plan[other] for other in study.store.needed([name], model)]
    if any(run.kind == "fit" for run in missing):
        trained = f"trains what is not here, {len(missing)} runs, {sum(map(estimate.steps, missing)):,} steps"
        raise FileNotFoundError(f"{name}: no model of it is here; `as2 fit {study.name} {name}` {trained}")


def starting_encoder(name: str | None) -> str:
    """What a fit starts from: a hub name, a folder, "nothing", or `DEFAULT_ENCODER`.  Raises where it can't be had."""
    if name != NOTHING:
        folder_of(name or DEFAULT_ENCODER)
    return name or DEFAULT_ENCODER
