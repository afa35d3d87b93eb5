"""Systems of one's own, beside those of the papers: the section `own` of a study's file."""

from functools import partial
from typing import TYPE_CHECKING

from as2lib.papers.building import adapted, distilling
from as2lib.study.run import Run, System

if TYPE_CHECKING:
    from as2lib.study import Study


def systems(study: "Study") -> list[System]:
    """`own/<name>`, a run a seed; they stand in 03's table of one's own and on the frontier."""
    return [System(f"own/{name}", name, "own", partial(fit, study, name), tuple(study.seeds)) for name in study.own]


def fit(study: "Study", name: str, seed: int) -> Run:
    """An encoder after the transfer step, fine-tuned on the target with what the section passes.

    With teachers as the study's students are: by its alpha and tau, teachers that only order candidates calibrated.
    """
    settings = study.own[name]
    objective = distilling(study, settings.loss) if settings.teachers else {"loss": settings.loss}
    objective |= settings.model_dump(include={"model", "settings"}, exclude_defaults=True)
    teachers = [study.systems[f"teacher/{teacher}"].make(seed) for teacher in settings.teachers]
    return adapted(study, f"own/{name}", settings.start, objective, seed, "own", teachers)
