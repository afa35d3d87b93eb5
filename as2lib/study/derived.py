"""Runs that no fit makes: rankers without training, and what is computed from the scores of other runs."""

from collections.abc import Sequence
from typing import Any

from as2lib.study.run import Run
from as2lib.study.store import StoredRun, Task, write_parquet, write_scores


def lexical(task: Task) -> dict[str, Any]:
    from as2lib.data.pairs import load_parts
    from as2lib.models import lexical as rankers

    scorer = getattr(rankers, task.run.recipe.scorer)
    for split, parts in task.run.data.items():
        pairs = load_parts(tuple(parts), "all")
        write_scores(task.folder / "scores" / f"{split}.parquet", pairs, scorer(pairs))
    return {"parameters": 0}


def calibration(child: Run, parents: Sequence[StoredRun]) -> dict[str, dict[str, Any]]:
    """Name → Platt scaling on dev, of those parents whose scores only order candidates, where a run asks for it."""
    from as2lib.models.ensemble import fit_platt

    if child.recipe.calibration != "platt":
        return {}
    dev = {run.name: run.scores("dev") for run in parents if run.run.recipe.orders_only}
    return {name: fit_platt(table["question_id"], table["label"], table["score"]) for name, table in dev.items()}


def _probabilities(run: StoredRun, split: str, platt: dict[str, dict[str, Any]], column: str = "score") -> Any:
    """A member's P(correct) over a split, (m,), calibrated where `platt` says.  column: "last", where it has that."""
    from as2lib.models.ensemble import calibrated_scores

    table = run.scores(split)
    scores = table[column if column in table else "score"].to_numpy()
    return calibrated_scores(platt[run.name], scores, table["question_id"]) if run.name in platt else scores


def ensemble(task: Task) -> dict[str, Any]:
    """The members' scores combined: their mean, a mean with weights tuned on dev, or a logistic regression on dev."""
    from as2lib.metrics.probability import sigmoid
    from as2lib.metrics.ranking import summary
    from as2lib.models import ensemble as ensembles

    members, recipe = task.parents["members"], task.run.recipe
    tables = {split: [member.scores(split) for member in members] for split in task.run.data}
    platt = calibration(task.run, members)
    scores = {split: [_probabilities(member, split, platt) for member in members] for split in task.run.data}
    last = {split: [_probabilities(member, split, platt, "last") for member in members] for split in task.run.data}
    facts: dict[str, Any] = {"parameters": sum(member.facts["parameters"] for member in members)}
    if platt:
        facts["calibration"] = platt
    if recipe.combine == "logistic":
        facts |= ensembles.fit_logistic(scores["dev"], tables["dev"][0]["label"])
    elif recipe.combine == "weighted":
        dev = tables["dev"][0]

        def dev_map(score: Any) -> float:
            return summary(dev["question_id"], dev["label"], score)["MAP"]

        weights = ensembles.tuned_weights(scores["dev"], dev_map, recipe.trials, task.run.seed)
        facts |= {"weights": weights, "dev_MAP": dev_map(ensembles.mean(scores["dev"], weights))}

    def combined(of_members: list[Any]) -> Any:
        if recipe.combine == "logistic":
            return sigmoid(ensembles.weigh(facts, of_members))
        return ensembles.mean(of_members, facts.get("weights"))

    for split, (first, *_) in tables.items():
        table = first[["question_id", "position", "label"]]
        table = table.assign(score=combined(scores[split]), last=combined(last[split]))
        write_parquet(task.folder / "scores" / f"{split}.parquet", table)
    return facts
