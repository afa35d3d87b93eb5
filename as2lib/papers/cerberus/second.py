"""The runs behind CERBERUS's Table 2 on a second target, that of the section `second`; trains nothing."""

from dataclasses import replace
from typing import TYPE_CHECKING

from as2lib.papers.cerberus import plan, systems
from as2lib.runs.run import Run, prefix_of

if TYPE_CHECKING:
    from as2lib.study import Study


def runs(study: "Study") -> list[Run]:
    """Those of a study that has this target as its transfer set, parents first, by `second/` and their rows' names."""
    if not study.second:
        return []
    other = systems.with_second(study)
    named = systems.as_published(other)
    every, wanted = {run.name: run for run in [*plan.transfer(other), *plan.on_transfer(other)]}, set()
    if unknown := [row for row in study.second.rows if row not in named.values()]:
        raise ValueError(f"second.rows: expected rows of CERBERUS's Table 2, such as mhs/3h1; got {', '.join(unknown)}")
    for name in reversed(every):
        first = every[name].seed == 0  # others are there to teach
        if name in wanted or (first and named.get(prefix_of(name)) in study.second.rows):
            wanted |= {name, *every[name].parent_names}
    return [_renamed(study, run, named) for name, run in every.items() if name in wanted]


def _renamed(study: "Study", run: Run, named: dict[str, str]) -> Run:
    def new(name: str) -> str:
        prefix = prefix_of(name)
        return systems.SECOND + name.replace(prefix, named.get(prefix, prefix.removeprefix("transfer-")), 1)

    parents = {role: [new(name) for name in names] for role, names in run.parents.items()}
    computing = {"precision": study.second.precision, "kernels": study.second.kernels}
    return replace(run, name=new(run.name), group=f"second-{run.group}", parents=parents, **computing)
