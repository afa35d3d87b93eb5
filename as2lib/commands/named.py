"""What a command's MODEL means: what is on disk first, then a lexical ranker, a run of a study, a model of the hub."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.data.pretrained import folder_of
from as2lib.data.sets import note
from as2lib.paths import expanded
from as2lib.ranker import Ranker, is_lexical

if TYPE_CHECKING:
    from as2lib.study import Study
    from as2lib.study.store import StoredRun

LoadStudy = Callable[[], "Study"]  # called only where a name may be that of a run
DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # what fits start from: the smallest that ranks well
NOTHING = "nothing"


def load_ranker(name: str, load_study: LoadStudy, fit: bool = False, **settings: Any) -> Ranker:
    """The ranker of a name; a line says where its scores are no probabilities.  settings: of `Ranker.load`, or None."""
    settings = {key: value for key, value in settings.items() if value is not None}
    ranker = Ranker.load(model_of(name, load_study, fit), **settings)
    if not ranker.is_probability:
        note("scores order the candidates of a question; they are no probabilities")
    return ranker


def model_of(name: str, load_study: LoadStudy, fit: bool = False) -> str | Path:
    """Where the model of a name is: its folder; that of a study's run, which `fit` trains; or itself.

    Raises FileNotFoundError where a run's weights are not here, and says what it would take to have them.
    """
    folder = expanded(name)
    if os.path.isfile(folder):
        raise ValueError(f"{name}: expected a model's folder, got a file")
    if os.path.isdir(folder):
        return folder
    if is_lexical(name) or not is_run(study := load_study(), name):
        return name
    try:
        study.store.planned(name)
    except KeyError as error:
        raise FileNotFoundError(f"{name}: no folder of that name, and {error.args[0]}") from None
    if not fit and study.plan[name].kind == "fit":
        require_made(study, name, model=True)
    return study.model(name)


def run_of(name: str, load_study: LoadStudy, fit: bool = False) -> "StoredRun":
    """A study's run with its scores, which `fit` trains where they are missing."""
    study = load_study()
    if not fit:
        require_made(study, name, model=False)
    return study.run(name)


def require_made(study: "Study", name: str, model: bool) -> None:
    """Raises FileNotFoundError where fits are to be made before a run, or its model, is there: for hours, perhaps."""
    from as2lib.study import estimate

    missing = [study.plan[other] for other in study.store.needed([name], model)]
    if not any(run.kind == "fit" for run in missing):
        return
    there = "only its scores are here" if study.store.find(name) else "it is not made"
    steps = sum(map(estimate.steps, missing))
    which = f"{len(missing)} runs, {missing[0].name} first" if missing[1:] else "it alone"
    way_out = f"`as2 fit {study.name} {name}` trains {which}, {steps:,} steps; so do rank, score and export with --fit"
    raise FileNotFoundError(f"{name}: {there}; {way_out}")


def is_run(study: "Study", name: str) -> bool:
    """Whether a name is that of a run, or looks like one: its first part is that of the study's runs."""
    kinds = {planned.partition("/")[0] for planned in study.plan}
    return name in study.plan or name.count("/") != 1 or name.partition("/")[0] in kinds


def starting_encoder(name: str | None, option: str = "--model") -> str:
    """What a fit starts from: a hub name, a folder, "nothing", or `DEFAULT_ENCODER`.  Raises where it can't be had."""
    if name != NOTHING:
        try:
            folder_of(name or DEFAULT_ENCODER)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{error}; {option} takes a folder, or {NOTHING}: a small encoder") from None
    return name or DEFAULT_ENCODER
