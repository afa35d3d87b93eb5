"""What a study compares and asks: the systems and the notebooks of every paper, each of which is named here once."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from types import ModuleType
from typing import Any, TypeAlias

from as2lib.study.run import Notebook, Row, by_name

Study: TypeAlias = Any  # that of study.py, which stands above
# Section of a study's file that asks for a paper → its module, in reading order, as `as2lib.papers` registers them.
# Each has `systems(study)`, `notebooks(study)` or both; and, for a table of its own, `table2(study)`.
PAPERS: dict[str, ModuleType] = {}


def systems(study: Study) -> list[Row]:
    """Every system of the study, in the order of the papers' tables."""
    systems = by_name(chain(*_of_each_paper(study, "systems")))
    if unknown := [name for name, seeds in study.rows.items() if seeds is not None and name not in systems]:
        way_out = f"take it out of the file, or by overrides {{'rows': {{{unknown[0]!r}: None}}}}"
        raise ValueError(f"rows: expected systems of the study, got {unknown[0]!r}; {way_out}")
    return list(systems.values())


def notebooks(study: Study) -> list[Notebook]:
    """The study's notebooks in reading order, each with the systems that it reads, with the study's seeds; one, 00, of
    pairs of one's own.
    """
    others = []
    for notebook in chain(*_of_each_paper(study, "notebooks")):
        rows = tuple(study.systems.get(system.run, system) for system in notebook.systems)
        others.append(replace(notebook, systems=rows))
    own = [notebook for notebook in others if notebook.name.startswith("00")]
    return own or [Notebook("00_overview", "What did the study find, and can I trust it?"), *others]


def _of_each_paper(study: Study, function: str) -> Iterator[list]:
    """What a function of each paper gives that the study asks for; every study asks for what has no section."""
    for section, paper in PAPERS.items():
        if getattr(study, section, True) and hasattr(paper, function):
            yield getattr(paper, function)(study)
