"""Studies of several targets side by side: CERBERUS's Table 2 over its data sets, and the headline tests pooled."""

import pandas

from as2lib.papers.cerberus import analyses
from as2lib.papers.cerberus import rows as cerberus
from as2lib.papers.pair_sets import published_set, set_of
from as2lib.study import Study
from as2lib.study.run import Row


def studies(study: Study) -> dict[str, Study]:
    """The study, and those of `across` in its file whose runs are here or published, by name.

    Raises ValueError for two of one target, whose questions would count twice where targets are pooled.
    """
    others = {name: type(study).load(name) for name in study.across}
    here = {name: other for name, other in others.items() if any(other.store.find(run) for run in other.plan)}
    studies, targets = {study.name: study, **here}, {}
    for name, other in studies.items():
        if (same := targets.setdefault(set_of(other.data.target.test[0]), name)) != name:
            raise ValueError(f"{study.name}: across: expected studies of other targets, got {name}, whose is {same}'s")
    return studies


def rows(study: Study) -> list[Row]:
    """The best ranker that learns nothing, the rows of Table 2, and the heads of one kind that a headline names."""
    return [cerberus.trivial(study)[-1], *cerberus.table2(study), *cerberus.kinds(study)]


def present(study: Study) -> list[Row]:
    """The rows all of whose runs are here or published."""
    return [row for row in rows(study) if row.seeds and all(study.store.find(run.name) for run in row.runs(study))]


# WikiQA's official test set keeps them; counted once, so that no texts are needed.
SHARED_ANSWERS = {
    ("wikiqa:train", "wikiqa:test"): frozenset(
        "Q340 Q638 Q676 Q715 Q1163 Q1444 Q1516 Q1619 Q2227 Q2741 Q2924 Q2940".split()
    )
}


def shared_answers(study: Study) -> frozenset[str]:
    """The ids of the test questions whose correct sentence, or whole list, the target's train has too."""
    from as2lib.data import load_parts, pairs

    target = study.data.target
    if study.data.leave_out == "shared_answers":
        return frozenset()  # its test set has none
    if (parts := (*target.train, *(part.removesuffix("=answered") for part in target.test))) in SHARED_ANSWERS:
        return SHARED_ANSWERS[parts]
    train, test = (load_parts(tuple(parts), "answered") for parts in (target.train, target.test))
    questions = pandas.unique(pandas.Series(test["question_id"][:]))
    return frozenset(questions[pairs.shared_answers(test, train)])


def published_table2(study: Study) -> pandas.DataFrame:
    """The columns of the paper's Table 2 that stand beside a study."""
    return analyses.published(study, "table2")[published_set(study)]
