"""Studies of several targets side by side, and which of their questions are clean."""

from as2lib.papers.pair_sets import learnt, set_of
from as2lib.study import Study


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


def shared_answers(study: Study) -> frozenset[str]:
    """The ids of the test questions whose correct sentence, or whole list, the target's train has too, or that the
    transfer set asks, where the study's file does not allow that.
    """
    target, transfer = study.data.target, study.data.transfer
    if study.data.leave_out == "shared_answers":
        return frozenset()  # its test set has none
    asked_before = transfer.train if transfer and not study.data.allow_shared_questions else ()
    return learnt(target.train, target.test, asked_before)
