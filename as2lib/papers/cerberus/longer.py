"""CERBERUS's headline rows at a larger budget: their runs, and what the larger budget changes; trains nothing.

The study `longer` of a study's file is the same study but for its budgets, seeds and precision, and has only some rows.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from as2lib.papers.cerberus import plan, systems
from as2lib.runs.run import Notebook, Run, System, names, of_systems, prefix_of
from as2lib.runs.search import points_for, tried

if TYPE_CHECKING:
    from as2lib.study import Study

BEFORE, ADDED = systems.LONGER, ", trained longer"  # to the names of these runs, and to what tables call them
TRIED = "kd/electra"  # the student that is fitted at the points of `longer.grid`, which are under GRID
GRID = f"{BEFORE}grid/{TRIED}/"
WITHOUT_DROPOUT = "as2lib.models.dropout:without"  # what changes the model of one of these points


def study_of(study: "Study") -> "Study":
    """The same study at the larger budget."""
    longer = study.longer
    given = {"transfer": longer.transfer, "adapt": longer.adapt, "direct": longer.direct or study.fit.direct}
    other = {"fit": study.fit.model_copy(update=given), "seeds": longer.seeds, "grid_seeds": longer.seeds[:1]}
    found = systems.with_encoders(study, lambda family, _: {"transfer_fit": longer.transfer_fit.get(family, {})})
    return found.model_copy(update={**other, "grid": type(study.grid)()})


def runs(study: "Study") -> list[Run]:
    """The runs behind the rows, parents before children, under `longer/`; of `once`, those of the first seed."""
    if not study.longer:
        return []
    every = plan.runs(study_of(study))
    planned = {prefix_of(run.name) for run in every}
    if unknown := [row for row in study.longer.every if row not in planned]:
        raise ValueError(
            f"longer.rows, longer.once: expected systems of CERBERUS, such as mhs/3h1; got {', '.join(unknown)}"
        )
    first = f"/seed-{study.longer.seeds[0]}"
    (own,) = (run for run in every if run.name == TRIED + first)
    grid = study.longer.grid.model_dump()  # one thing varies, the other stays as the study has it
    points = tried(own, [point for name, values in grid.items() for point in points_for(own, {name: values})])
    if study.longer.without_dropout:
        points.append(replace(own, name=f"grid/{TRIED}/without-dropout", spec={**own.spec, "model": WITHOUT_DROPOUT}))
    every += [run for run in points if run.spec != own.spec]
    wanted = {own.name, *names(points)} if points else set()
    wanted |= {row + first for row in study.longer.once}
    wanted |= {name for name in names(every) if prefix_of(name) in study.longer.rows}
    return plan.again(every, wanted, study.longer, BEFORE)


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 13, which reads the rows at both budgets."""
    if not study.longer:
        return []
    question, answers = "Is a small gain the method's, or the budget's?", "CERBERUS Table 2 at a larger budget"
    rows = {systems.TRIVIAL[-1].prefix, *study.longer.every, *fits(study)}
    prefixes = rows | {name for name in study.plan if name.startswith(GRID)}
    return [Notebook("13_budget", question, answers, of_systems(study, prefixes))]


def fits(study: "Study") -> list[str]:
    """The prefixes of every row at the larger budget, and of the members of those that are ensembles."""
    rows = [BEFORE + row for row in study.longer.every]
    made = [run for name, run in study.plan.items() if prefix_of(name) in rows]
    return [*dict.fromkeys([*rows, *(prefix_of(name) for run in made for name in run.parents.get("members", ()))])]


def beside(study: "Study", answer: str) -> str:
    """An answer from the study's own fits, which says so where rows were given more."""
    return f"{answer} These fits are short; 13_budget has some longer ones." if study.longer else answer


def twin(study: "Study", prefix: str) -> str:
    """The prefix of the same row at the larger budget; of the row itself where the study does not have it there."""
    return BEFORE + prefix if study.longer and prefix in study.longer.every else prefix


def twins(study: "Study", rows: dict[str, str]) -> dict[str, str]:
    """`twin` of each prefix, under a label that says where it was trained longer.  rows: label → prefix."""
    found = {label: twin(study, prefix) for label, prefix in rows.items()}
    return {label + ADDED * (found[label] != rows[label]): found[label] for label in rows}


def note(rows: dict[str, str]) -> str:
    """What a caption says of `twins` among its rows; empty where there are none."""
    return " Trained longer: the fits of 13_budget." if any(label.endswith(ADDED) for label in rows) else ""


def called(study: "Study") -> dict[str, System]:
    """Run prefix → system, of the rows at the larger budget, in the order of the catalogue; none without a section."""
    found = {}
    for prefix, row in systems.systems(study).items():
        if study.longer and prefix in study.longer.every:
            label, short = row.label + ADDED, row.name + ADDED
            found[BEFORE + prefix] = replace(row, prefix=BEFORE + prefix, label=label, short=short)
    return found
