"""The runs behind CERBERUS's Table 2 on a second target, that of the section `second`; trains nothing."""

from typing import TYPE_CHECKING

from as2lib.papers.cerberus import plan, systems
from as2lib.runs.run import Run, prefix_of

if TYPE_CHECKING:
    from as2lib.study import Study


def runs(study: "Study") -> list[Run]:
    """Those of a study that has this target as its transfer set, parents first, by `second/` and their rows' names."""
    if not study.second:
        return []
    other, named = systems.with_second(study), systems.rows_on_transfer(study)
    every = [*plan.transfer(other), *plan.on_transfer(other)]
    if unknown := [row for row in study.second.rows if row not in named.values()]:
        raise ValueError(f"second.rows: expected rows of CERBERUS's Table 2, such as mhs/3h1; got {', '.join(unknown)}")
    first = {run.name for run in every if run.seed == 0}  # others are there to teach
    wanted = {name for name in first if named.get(prefix_of(name)) in study.second.rows}

    def renamed(name: str) -> str:
        prefix = prefix_of(name)
        return name.replace(prefix, named.get(prefix, prefix.removeprefix("transfer-")), 1)

    return plan.again(every, wanted, study.second, systems.SECOND, renamed)
