"""What a command's MODEL means: what is on disk first, then a run of a study, then what `Ranker.load` knows by name."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.commands.options import load_study
from as2lib.data.sets import note
from as2lib.paths import expanded
from as2lib.ranker import Ranker, only_orders

if TYPE_CHECKING:
    from as2lib.study import Study


def load_ranker(name: str, study: str, **settings: Any) -> Ranker:
    """The ranker of a name; a line says where its scores are no probabilities.  settings: of `Ranker.load`, or None."""
    settings = {key: value for key, value in settings.items() if value is not None}
    ranker = Ranker.load(model_of(name, study), **settings)
    note(f"{name} computes in {ranker.precision} on {ranker.device}")
    if not ranker.is_probability:
        note("scores order the candidates of a question; they are no probabilities")
    return ranker


def model_of(name: str, study: str) -> str | Path:
    """Where the model of a name is: its folder, that of a study's run, or itself.  Raises as `require_made`."""
    folder = expanded(name)
    if os.path.isdir(folder):  # of no name too long for a file either
        return folder
    if only_orders(name) or name not in (loaded := load_study(study)).plan:
        return name
    if loaded.plan[name].kind == "fit":
        require_made(loaded, name, model=True)
    return loaded.model(name)


def require_made(study: "Study", name: str, model: bool) -> None:
    """Raises FileNotFoundError where fits are to be made before a run, or its model, is there: for hours, perhaps."""
    from as2lib.study import estimate

    missing = [study.plan[other] for other in study.store.needed([name], model)]
    if any(run.kind == "fit" for run in missing):
        trained = f"trains what is not here, {len(missing)} runs, {sum(map(estimate.steps, missing)):,} steps"
        raise FileNotFoundError(f"{name}: no model of it is here; `as2 fit {study.name} {name}` {trained}")
