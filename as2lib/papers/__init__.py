"""The papers, a room each: which runs their tables need, and what the papers published; trains nothing."""

from typing import TYPE_CHECKING

from as2lib.papers import own
from as2lib.papers.cascade import plan as cascade_plan
from as2lib.papers.cerberus import longer, second
from as2lib.papers.cerberus import plan as cerberus_plan
from as2lib.papers.cosinet import plan as cosinet_plan
from as2lib.papers.frontier import plan as frontier_plan
from as2lib.papers.frontier import systems as frontier_systems
from as2lib.papers.govern import plan as govern_plan
from as2lib.papers.kinds import plan as kinds_plan
from as2lib.papers.serving import plan as serving_plan
from as2lib.runs.run import Notebook, Run

if TYPE_CHECKING:
    from as2lib.study import Study

PAPERS = (cerberus_plan, cascade_plan, cosinet_plan, govern_plan)  # each may name runs of those before it


def plan(study: "Study") -> dict[str, Run]:
    """Every run of the study by name; parents come before children."""
    rooms = (*PAPERS, second, longer, kinds_plan, frontier_plan, own)
    return {run.name: run for room in rooms for run in room.runs(study)}


def notebooks(study: "Study") -> list[Notebook]:
    """The study's notebooks in reading order, each with the names of the runs it reads."""
    rooms = (*PAPERS, frontier_systems, serving_plan, longer, kinds_plan)
    others = [notebook for room in rooms for notebook in room.notebooks(study)]
    read = list(dict.fromkeys(run for notebook in others for run in notebook.runs))  # its claims are of all papers
    return [Notebook("00_overview", "What did the study find, and can I trust it?", "the index page", read), *others]


def left_out(study: "Study") -> str:
    """Which notebooks the study has not, and which section or measurement they want; empty where it has all."""
    wanted = {"05_latency": "latency", "08_cascade": "cascade", "09_cosinet": "cosinet", "10_govern": "govern"}
    wanted |= {"13_budget": "longer", "14_kinds": "kinds"}
    absent = [f"{name} (no {section})" for name, section in wanted.items() if not getattr(study, section)]
    absent += filter(None, [serving_plan.left_out(study)])
    return f"; left out: {', '.join(absent)}" if absent else ""
