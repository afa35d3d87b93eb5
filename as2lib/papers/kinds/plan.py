"""CERBERUS's students taught by teachers of different kinds, each beside its twin of one kind; trains nothing.

A twin is the same run but for its teachers: same start, same budget, same seed.  Two of its three cross-encoders give
way to list-wise models over words, whose scores are calibrated first.
"""

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from as2lib.papers.cerberus import longer, systems
from as2lib.papers.cerberus import plan as cerberus
from as2lib.papers.cosinet import plan as cosinet
from as2lib.runs.run import Notebook, Run, System, names, of_systems

if TYPE_CHECKING:
    from as2lib.study import Study

OTHERS = ("ca/birnn", "cosinet/birnn")  # the best list-wise model of each encoder in Cosinet's Table 4, WikiQA
BEHIND = "-of-kinds"  # of the names of these runs
QUESTION, ANSWERS = "Do teachers of different kinds teach more than teachers of one?", "CERBERUS section 5.2, Table 3"


def runs(study: "Study") -> list[Run]:
    """The students of `kinds.rows`; none in a study without that section.

    Raises ValueError where a row has no twin, or a seed no teachers.
    """
    if not study.kinds:
        return []
    twins = {run.name: run for run in (longer.runs(study) if study.longer else cerberus.runs(study))}
    known, found = {*twins, *names(cosinet.runs(study))}, []
    for row, seed in product(study.kinds.rows, study.kinds.seeds):
        twin, by = f"{before(study)}{row}/seed-{seed}", [f"{prefix}/seed-{seed}" for prefix in teachers(study)]
        if missing := [name for name in (twin, *by) if name not in known]:
            raise ValueError(f"kinds: {row}, seed {seed}: expected the study to plan {', '.join(missing)}, too")
        same = twins[twin]
        if len(same.parents.get("teachers", [])) != len(by):
            raise ValueError(f"kinds.rows: expected systems with {len(by)} teachers, such as mhs/3h1; got {row}")
        made = {"spec": {**same.spec, "calibration": "platt"}, "parents": {**same.parents, "teachers": by}}
        name = f"{before(study)}{row}{BEHIND}/seed-{seed}"
        found.append(replace(same, name=name, group=f"kinds-{seed}", **made))
    return found


def before(study: "Study") -> str:
    """What the names of the twins begin with: they are those of the larger budget where the study has one."""
    return longer.BEFORE if study.longer else ""


def teachers(study: "Study") -> list[str]:
    """The teachers of different kinds: the student's own large model, then those over words."""
    return [f"{before(study)}teacher/{systems.STUDENT}", *OTHERS]


def pairs(study: "Study") -> list[tuple[str, str]]:
    """(different kinds, same kind): the prefixes of each student and of its twin; none without the section."""
    twins = [before(study) + row for row in study.kinds.rows] if study.kinds else []
    return [(f"{twin}{BEHIND}", twin) for twin in twins]


def called(study: "Study") -> dict[str, System]:
    """Run prefix → system, of these students; none without the section."""
    found, rows = {}, systems.systems(study) | longer.called(study)
    for new, twin in pairs(study):
        label, short = f"{rows[twin].label}, teachers of three kinds", f"{rows[twin].name}, of three kinds"
        found[new] = replace(rows[twin], prefix=new, label=label, short=short)
    return found


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 14, which reads these students, their twins and both sets of teachers."""
    if not study.kinds:
        return []
    read = {prefix for pair in pairs(study) for prefix in pair} | {*teachers(study), *same_teachers(study)}
    return [Notebook("14_kinds", QUESTION, ANSWERS, of_systems(study, read | {systems.TRIVIAL[-1].prefix}))]


def same_teachers(study: "Study") -> list[str]:
    """The teachers of one kind: large models, a family each."""
    return [f"{before(study)}teacher/{family}" for family in systems.FAMILIES]
