"""Systems of one's own, beside those of the papers: the section `own` of a study's file."""

from typing import TYPE_CHECKING

from as2lib.papers.row import Row, distillation
from as2lib.papers.row import systems as of_rows
from as2lib.study.run import System

if TYPE_CHECKING:
    from as2lib.study import Study


def systems(study: "Study") -> list[System]:
    """`own/<name>`, a run a seed: an encoder after the transfer step, with what the section passes.

    With teachers as the study's students are: by its alpha and tau, teachers that only order candidates calibrated.
    """
    rows = []
    for name, own in study.own.items():
        spec = own.model_dump(include={"model", "settings"}, exclude_defaults=True)
        if own.teachers:
            spec |= distillation(study)
        teachers = tuple(f"teacher/{teacher}" for teacher in own.teachers)
        fit = {"start": own.start, "loss": own.loss, "teachers": teachers, "spec": spec}
        rows.append(Row(f"own/{name}", name, "own", **fit, jobs="own"))
    return of_rows(study, rows)
