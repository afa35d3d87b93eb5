"""The papers, a room each: which systems their tables compare, and what the papers published; trains nothing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from as2lib.study import Study
    from as2lib.study.run import Notebook, System


def systems(study: "Study") -> "list[System]":
    """Every system of the study, in the order of the papers' tables; a section that it lacks leaves its paper out.

    Raises ValueError where `rows` names a system that the study has not.
    """
    from dataclasses import replace

    from as2lib.papers import own
    from as2lib.papers.cascade import systems as cascade
    from as2lib.papers.cerberus import systems as cerberus
    from as2lib.papers.cosinet import systems as cosinet
    from as2lib.papers.govern import systems as govern

    rooms = (cerberus, cascade, cosinet, govern, own)
    systems = {system.run: system for room in rooms for system in room.systems(study)}
    if unknown := [name for name in study.rows if name not in systems]:
        raise ValueError(f"rows: expected systems of the study, got {unknown[0]!r}; `as2 plan {study.name}` lists them")
    return [replace(system, seeds=tuple(study.rows.get(system.run, system.seeds))) for system in systems.values()]


def notebooks(study: "Study") -> "list[Notebook]":
    """The study's notebooks in reading order, each with the systems that it reads."""
    from dataclasses import replace

    from as2lib.papers import across, frontier, serving
    from as2lib.papers.cascade import systems as cascade
    from as2lib.papers.cerberus import systems as cerberus
    from as2lib.papers.cosinet import systems as cosinet
    from as2lib.papers.govern import systems as govern
    from as2lib.study.run import Notebook

    rooms = (cerberus, cascade, cosinet, govern, frontier, serving, across)
    others = []
    for notebook in (notebook for room in rooms for notebook in room.notebooks(study)):
        rows = tuple(study.systems.get(system.run, system) for system in notebook.systems)  # with the study's seeds
        others.append(replace(notebook, systems=rows))
    first = Notebook("00_overview", "What did the study find, and can I trust it?", "the index page")
    return [first, *others]
