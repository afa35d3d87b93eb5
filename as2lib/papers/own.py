"""Systems of one's own, beside those of the papers: the section `own` of a study's file, a run a seed."""

from typing import TYPE_CHECKING

from as2lib.runs.params import FAMILIES
from as2lib.runs.run import Run, adapt

if TYPE_CHECKING:
    from as2lib.study import Study


def runs(study: "Study") -> list[Run]:
    """`own/<name>/seed-N`: an encoder after the transfer step, fine-tuned on the target with what is passed."""
    found = []
    for name, system in study.own.items():
        given = {"loss": system.loss, "model": system.model, "settings": system.settings}
        objective = {key: value for key, value in given.items() if value}
        for seed in study.seeds:
            teachers = [f"teacher/{family}/seed-{seed}" for family in system.teachers]
            family, size = system.family or FAMILIES[0], system.size
            found.append(adapt(study, f"own/{name}", family, size, objective, seed, f"own-{name}", teachers))
    return found
