"""What a study compares and asks: the systems and the notebooks of every paper, each of which is named here once."""

from collections.abc import Iterable
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
    if not study.rows.keys() <= systems.keys():  # a transfer step alone, as `part` restricts a study to it
        shared = starts(systems.values())
        systems |= {name: shared[name].of(study) for name in study.rows if name in shared}
    if unknown := [name for name in study.rows if name not in systems]:
        way_out = f"take it out of the file, or by overrides {{'rows': {{{unknown[0]!r}: None}}}}"
        raise ValueError(f"rows: expected systems of the study, got {unknown[0]!r}; {way_out}")
    return list(systems.values())


def starts(rows: Iterable[Row]) -> dict[str, Row]:
    """Name → row, of what some rows are made from and no table shows, such as a transfer step."""
    shared: dict[str, Row] = {}
    for row in rows:
        for named in row.recipe.parents.values():
            parents = [
                parent[0] if isinstance(parent, tuple) else parent
                for parent in (named(0) if callable(named) else named)
            ]
            others = {parent.run: parent for parent in parents if isinstance(parent, Row)}
            shared |= others | starts(others.values())
    return shared


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


def part(study: "Study", names: list[str]) -> tuple["Study", list[Notebook]]:
    """A study with no other rows than some notebooks, tables, systems or runs need, and the notebooks that show them.

    names: "03_distillation" or "03", "cerberus.table2", "mhs/3h1", "mhs/3h1/seed-0"; none: all of it.
    """
    if not names:
        return study, notebooks(study)
    rows: dict[str, list[int]] = {system: [] for system in study.systems}
    pages = set()
    for name in names:
        page, systems = _meant(study, name)
        if page:
            pages.add(page.name)
            trivial = [system for system in study.systems.values() if system.group == "trivial"]
            systems = [*trivial, *systems]  # they stand in every table
        for system in systems:
            seeds = [run.seed for run in system.runs(study) if page or name in (run.name, system.run)]
            rows[system.run] = list(dict.fromkeys([*rows.get(system.run, ()), *seeds]))
    restricted = study.load(study, {"rows": rows})
    return restricted, [page for page in notebooks(restricted) if page.name in pages]


def _meant(study: "Study", name: str) -> tuple[Notebook | None, list[Row]]:
    """The systems that a name means, and the notebook that shows them, None of single systems and runs."""
    pages = notebooks(study)
    for page in pages:
        if name in (page.name, page.name[:2]):
            return page, list(page.systems)
    paper, _, table = name.partition(".")
    if table.startswith("table") and hasattr(PAPERS.get(paper), table):
        systems = [system for system in getattr(PAPERS[paper], table)(study) if system.run in study.systems]
        runs = {system.run for system in systems}
        return next((page for page in pages if runs <= {system.run for system in page.systems}), None), systems
    shared = starts(study.systems.values())
    for system in (name, name.rpartition("/seed-")[0]):
        if system in study.systems or system in shared:
            return None, [study.systems[system] if system in study.systems else shared[system].of(study)]
    expected = "a notebook (03), a table (cerberus.table2), a system or a run"
    raise ValueError(f"--only: expected {expected}, got {name!r}; `as2 plan {study.name}` lists the runs")


def _papers(function: str) -> list[ModuleType]:
    if not PAPERS:
        raise RuntimeError("no paper is registered: take Study from as2lib, or import as2lib.papers before")
    return [paper for paper in PAPERS.values() if hasattr(paper, function)]
