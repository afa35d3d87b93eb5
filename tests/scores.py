"""`python -m tests.scores > docs/scores.md`: what `as2 score` prints for every published run that ranks a test set."""

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
    lines = [HEAD]
    for study in map(Study.load, STUDIES):
        tables: dict[str, list[str]] = {}  # of each test set, in the order of the systems
        for system in study.systems.values():
            run = system.runs(study)[0] if system.seeds else None
            stored = study.store.find(run.name) if run and "test" in run.data else None
            if stored is None:
                continue
            values = summary(*(stored.scores("test")[name] for name in ("question_id", "label", "score")))
            numbers = " | ".join(f"{100 * values[measure]:.2f}" for measure in MEASURES)
            parts = f"{', '.join(run.data['test'])}, {values['questions']} questions"
            tables.setdefault(parts, []).append(f"| {system.label} | `{run.name}` | {numbers} |")
        head = [f"| system | RUN | {' | '.join(MEASURES)} |", "|---|---|" + "--:|" * len(MEASURES)]
        for parts, rows in tables.items():
            lines += [f"\n## {study.name}: {parts}\n", *head, *rows]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
