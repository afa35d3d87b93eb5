"""The notebooks that ask what no paper does, and which systems they read; `frontier` and `across` answer them."""

from as2lib.data import sets
from as2lib.papers.cerberus import rows as cerberus
from as2lib.papers.cosinet import rows as cosinet
from as2lib.papers.govern import rows as govern
from as2lib.study import Study
from as2lib.study.run import Notebook, Row, by_name


def notebooks(study: Study) -> list[Notebook]:
    """Notebook 11 and, where a study sets others beside it, 13, each with what it reads; or one's own."""
    if of_own_pairs(study):
        return [Notebook("00_own", "Which ranker for your questions?", tuple(ranked(study).values()))]
    every = (*ranked(study).values(), *controls(study))
    table2 = (*cerberus.trivial(study), *cerberus.table2(study), *cerberus.kinds(study))
    others = [file for name in study.across for file in (f"params/{name}.yaml", f"reports/{name}/scores/index.json")]
    books = [Notebook("11_frontier", "Which system for which budget?", every)]
    if study.across:
        question = "Does a small ranker gain from large teachers?"
        books.append(Notebook("13_across", question, tuple(by_name([*every, *table2]).values()), files=tuple(others)))
    return books


def of_own_pairs(study: Study) -> bool:
    """Whether a study's target is a set of one's own, of which no paper says anything."""
    return not any(sets.is_known(sets.split_part(part)[0]) for part in study.data.target.test)


def ranked(study: Study) -> dict[str, Row]:
    """The systems that rank the target's test set, in the order in which its candidates come; those that are run.

    Without GOVERN's ablations: of ten teachers that differ in a fold, dev would choose the luckiest.
    """
    test = [part.removesuffix("=answered") for part in study.data.target.test]
    left_out = {system.run for system in controls(study) + (govern.ablation(study) if study.govern else [])}
    ranked = {}
    for name, system in study.systems.items():
        whole = [part.removesuffix("=answered") for part in system.data.get("test", ())]
        ranks = whole == test and system.kind != "shuffled" and system.scheme != "scores"
        if system.seeds and name not in left_out and ranks:
            ranked[name] = system
    return ranked


def controls(study: Study) -> list[Row]:
    """What tells the order from the model: rankers trained on random orders."""
    return [study.systems[f"{run}-shuffled"] for run in cosinet.TRAINED_SHUFFLED] if study.cosinet else []
