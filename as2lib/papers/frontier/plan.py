"""The one run that the frontier adds to those of the papers: a multiple-heads student with exits."""

from dataclasses import replace
from typing import TYPE_CHECKING

from as2lib.papers.cerberus import longer
from as2lib.papers.cerberus import plan as cerberus
from as2lib.papers.cerberus.longer import twin
from as2lib.papers.frontier.systems import UNTAUGHT, exited
from as2lib.runs.run import Run

if TYPE_CHECKING:
    from as2lib.study import Study

MODEL, LOSS = (f"as2lib.papers.frontier.exits:{name}" for name in ("model", "loss"))


def runs(study: "Study") -> list[Run]:
    """MHS with an exit behind every layer of its body, one seed: same start and budget as its twin without a teacher.

    None in a study without a cascade.
    """
    if study.cascade is None:
        return []
    name = f"/seed-{study.grid_seeds[0]}"
    same = next(run for run in [*cerberus.runs(study), *longer.runs(study)] if run.name == twin(study, UNTAUGHT) + name)
    return [replace(same, name=exited(study) + name, spec={**same.spec, "model": MODEL, "loss": LOSS}, group="exits")]
