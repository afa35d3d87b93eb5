"""What a study compares and asks: the systems and the notebooks of every paper, each of which is named here once."""

from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from as2lib.study.run import Notebook, System

if TYPE_CHECKING:
    from as2lib.study import Study

# In reading order.  They stand above this room, so they are named and not imported; each has `systems(study)`,
# `notebooks(study)` or both, and gives none where the study lacks the paper's section.
PAPERS = (
    "as2lib.papers.cerberus.rows",
    "as2lib.papers.cascade.rows",
    "as2lib.papers.cosinet.rows",
    "as2lib.papers.govern.rows",
    "as2lib.papers.beyond",
)


def systems(study: "Study") -> list[System]:
    """Every system of the study, in the order of the papers' tables.

    Raises ValueError where `rows` names a system that the study has not.
    """
    systems = {system.run: system for paper in _papers("systems") for system in paper.systems(study)}
    if unknown := [name for name in study.rows if name not in systems]:
        raise ValueError(f"rows: expected systems of the study, got {unknown[0]!r}; `as2 plan {study.name}` lists them")
    return list(systems.values())


def notebooks(study: "Study") -> list[Notebook]:
    """The study's notebooks in reading order, each with the systems that it reads, with the study's seeds."""
    others = []
    for notebook in (notebook for paper in _papers("notebooks") for notebook in paper.notebooks(study)):
        rows = tuple(study.systems.get(system.run, system) for system in notebook.systems)
        others.append(replace(notebook, systems=rows))
    return [Notebook("00_overview", "What did the study find, and can I trust it?", "the index page"), *others]


def part(study: "Study", names: list[str]) -> tuple[dict[str, list[int]], list[str]]:
    """What some notebooks ("03_distillation", "03"), tables ("cerberus.table2"), systems and runs need.

    Returns system → seeds, and the names of the notebooks that show them, none of single runs.
    Raises ValueError for any other name.
    """
    pages, every = notebooks(study), study.systems
    rows: dict[str, list[int]] = {}
    names_of_pages = []
    for name in names:
        paper, _, table = name.partition(".")
        page = next((page for page in pages if name in (page.name, page.name[:2])), None)
        if page:
            wanted = page.systems
        elif table and hasattr(module := _paper(paper), table):
            wanted = [system for system in getattr(module, table)(study) if system.run in every]
            page = next(
                (page for page in pages if {row.run for row in wanted} <= {row.run for row in page.systems}), None
            )
        else:
            wanted = [every[system] for system in (name, name.rpartition("/seed-")[0]) if system in every]
            if not wanted:
                expected = "a notebook (03), a table (cerberus.table2), a system or a run"
                raise ValueError(f"--only: expected {expected}, got {name!r}; `as2 plan {study.name}` lists the runs")
        if page:  # every table shows the trivial baseline
            wanted = [*(system for system in page.systems if system.group == "trivial"), *wanted]
        for system in wanted:
            seeds = [run.seed for run in system.runs() if page or name in (run.name, system.run)]
            rows.setdefault(system.run, []).extend(seeds)
        names_of_pages += [page.name] if page else []
    return {name: list(dict.fromkeys(seeds)) for name, seeds in rows.items()}, names_of_pages


def _paper(name: str) -> ModuleType | None:
    path = f"as2lib.papers.{name}.rows"
    return import_module(path) if path in PAPERS else None


def _papers(function: str) -> list[ModuleType]:
    return [paper for paper in map(import_module, PAPERS) if hasattr(paper, function)]
