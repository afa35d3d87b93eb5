"""What a study compares and asks: the systems and the notebooks of every paper, each of which is named here once."""

from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

from as2lib.study.run import Notebook, Row, by_name

if TYPE_CHECKING:
    from as2lib.study import Study

# Name → module, in reading order, as `as2lib.papers` registers them.  Each has `systems(study)`, `notebooks(study)` or
# both, which give none where the study lacks the paper's section; and, for a table of its own, `table2(study)`.
PAPERS: dict[str, ModuleType] = {}


def systems(study: "Study") -> list[Row]:
    """Every system of the study, in the order of the papers' tables."""
    systems = by_name(system for paper in _papers("systems") for system in paper.systems(study))
    if unknown := [name for name in study.rows if name not in systems]:
        way_out = f"take it out of the file, or by overrides {{'rows': {{{unknown[0]!r}: None}}}}"
        raise ValueError(f"rows: expected systems of the study, got {unknown[0]!r}; {way_out}")
    return list(systems.values())


def notebooks(study: "Study") -> list[Notebook]:
    """The study's notebooks in reading order, each with the systems that it reads, with the study's seeds."""
    others = []
    for notebook in (notebook for paper in _papers("notebooks") for notebook in paper.notebooks(study)):
        rows = tuple(study.systems.get(system.run, system) for system in notebook.systems)
        others.append(replace(notebook, systems=rows))
    return [Notebook("00_overview", "What did the study find, and can I trust it?"), *others]


def parts_read(study: "Study") -> dict[str, set[str]]:
    """System → what pages read beside its scores (`Notebook.parts`); what is read of an ensemble, of its members."""
    parts: dict[str, set[str]] = {}
    for notebook in notebooks(study):
        for part, names in notebook.parts.items():
            for name in names:
                parts.setdefault(name, set()).add(part)
    for run in reversed(study.plan.values()):  # ensembles before their members
        for member in run.parents.get("members", ()):
            parts.setdefault(member.system, set()).update(parts.get(run.system, ()))
    return parts


def _papers(function: str) -> list[ModuleType]:
    if not PAPERS:
        raise RuntimeError("no paper is registered: take Study from as2lib, or import as2lib.papers before")
    return [paper for paper in PAPERS.values() if hasattr(paper, function)]
