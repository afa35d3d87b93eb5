"""GOVERN's catalogue: every system of its notebook by the prefix of its runs, and what tables and figures call it."""

from typing import TYPE_CHECKING

from as2lib.runs.run import System

if TYPE_CHECKING:
    from as2lib.study import Study

BASELINE = "lexical/overlap_then_rank"
OF_THE_SIZE = "teacher of the student's size"  # what claims call it: which of them it is depends on the study
TABLE_4 = 5  # its number of teachers
ALIKE = 2  # up to so many teachers the vote is the mean: two that agree both count, and so do two that do not
NO_LABELS = "student, no labels"
TABLE_2 = ("trivial", "teacher", "ensemble", NO_LABELS, "then labels")  # its kinds of systems
STUDENTS = {"mean": "the mean", "lr": "the logistic regression", "govern": "GOVERN"}  # without labels: name → of whom
AGAIN, LONGER = ("mean", "govern"), "-longer"  # those that may learn for longer too; the end of their names


def systems(study: "Study") -> dict[str, System]:
    """Run prefix → system, in the order of Table 2; then those of the ablation, where the study has one.

    Short names of teachers: T1, T2, … of growing size, and F1, F2, … that differ by fold.
    """
    given, ablation = study.govern, study.govern.ablation
    sizes = [encoder.label(study) for encoder in given.teachers]
    again, length = (AGAIN, f", {given.longer_fit.length}") if given.longer_fit else ((), "")
    found = [
        System(BASELINE, "WO+RR (trivial baseline)", "trivial"),
        *(System(f"govern/teacher-{n}", f"teacher {n}: {size}", "teacher", f"T{n}") for n, size in enumerate(sizes, 1)),
        System("govern/mean-ensemble", "mean of the teachers", "ensemble"),
        System("govern/lr-ensemble", "logistic regression of the teachers", "ensemble"),
        *(System(f"govern/{name}", f"student of {whom}", NO_LABELS) for name, whom in STUDENTS.items()),
        *(System(f"govern/{name}{LONGER}", f"student of {STUDENTS[name]}{length}", NO_LABELS) for name in again),
        System("govern/ca-mkd", "GOVERN, then CA-MKD on labels", "then labels"),
        System("govern/govern-ca", "GOVERN, then GOVERN-CA on labels", "then labels"),
        System("govern/ca-mkd-without-ce", "GOVERN, then CA-MKD without its cross entropy", "then labels"),
    ]
    if ablation:
        folds, points = range(1, max(*ablation.teachers, TABLE_4) + 1), sorted({*ablation.teachers, TABLE_4})
        found += [
            *(System(f"govern/fold-{n}", "the replaced teacher", "fold", f"F{n}") for n in folds),
            System("govern/worse-teacher", "the worse teacher", "worse"),
            *(System(f"govern/mean-of-{n}", f"mean of {n} teachers", "mean") for n in ablation.teachers),
            *(System(f"govern/govern-of-{n}", f"GOVERN with {n} teachers", "GOVERN") for n in points if n > ALIKE),
            System("govern/one-better", "one replaced by a much better one", "one replaced"),
            System("govern/one-worse", "one replaced by a much worse one", "one replaced"),
            System("govern/heads-teacher", "a teacher a head", "heads"),
            System("govern/heads-govern", "a vote a head", "heads"),
        ]
    return {system.prefix: system for system in found}


def trained_longer(study: "Study") -> dict[str, str]:
    """The prefixes of the students that learn from the pool for longer, too → those of their longer fits."""
    return {f"govern/{name}": f"govern/{name}{LONGER}" for name in AGAIN} if study.govern.longer_fit else {}


def students(study: "Study") -> list[str]:
    """The prefixes of the students of Table 2, those that learn from labels, too, among them."""
    return [prefix for prefix, system in systems(study).items() if system.kind in TABLE_2[3:]]


def teacher_of_the_size(study: "Study") -> str | None:
    """The first teacher with the student's encoder, by the prefix of its run; none where there is none."""
    places = [n for n, encoder in enumerate(study.govern.teachers, 1) if encoder == study.govern.student]
    return f"govern/teacher-{places[0]}" if places else None
