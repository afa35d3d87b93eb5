"""`python -m tests.scores > docs/scores.md`: what `as2 score` prints for every published run that ranks a test set."""

from collections.abc import Iterator

from as2lib import Study
from as2lib.metrics.ranking import summary

STUDIES = ("wikiqa", "wikiqa_base", "selqa")
MEASURES = ("P@1", "MAP", "nDCG@10")
HEAD = """# Expected scores

What `as2 score RUN --study STUDY` prints beside MRR, in percent, for the first seed of every system whose scores are
published, over questions with a correct candidate. In a clone no row needs data, weights or a network. A run that is
trained anew has other weights: compare it with the ± of its row in the reports.

`python -m tests.scores > docs/scores.md` writes this page, and a test compares it.
"""


def page() -> str:
    return "\n".join([HEAD, *(line for study in map(Study.load, STUDIES) for line in of_study(study))])


def of_study(study: Study) -> Iterator[str]:
    """A table for each test set of a study, in the order of its systems."""
    tables: dict[str, list[str]] = {}
    for system in study.systems.values():
        run = system.runs(study)[0] if system.seeds else None
        stored = study.store.find(run.name) if run and "test" in run.data else None
        if stored is None:
            continue
        scores = stored.scores("test")
        values = summary(scores["question_id"], scores["label"], scores["score"])
        numbers = " | ".join(f"{100 * values[measure]:.2f}" for measure in MEASURES)
        parts = f"{', '.join(run.data['test'])}, {values['questions']} questions"
        tables.setdefault(parts, []).append(f"| {system.label} | `{run.name}` | {numbers} |")
    for parts, rows in tables.items():
        yield f"\n## {study.name}: {parts}\n"
        yield f"| system | RUN | {' | '.join(MEASURES)} |"
        yield "|---|---|" + "--:|" * len(MEASURES)
        yield from rows


if __name__ == "__main__":
    print(page())
