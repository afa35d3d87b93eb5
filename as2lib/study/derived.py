"""What is computed from the scores of other runs: ensembles, and the calibration of what only orders candidates."""

from collections.abc import Sequence
from typing import Any

from as2lib.study.run import Run
from as2lib.study.store import StoredRun, Task, write_parquet


def calibration(child: Run, parents: Sequence[StoredRun]) -> dict[str, dict[str, Any]]:
    """Name → Platt scaling on dev, where a run asks for it: "platt" of those parents whose scores only order
    candidates, "platt of all" of each.
    """
    from as2lib.models.ensemble import fit_platt

    if child.recipe.calibration is None:
        return {}
    every = child.recipe.calibration == "platt of all"
    dev = {run.name: run.scores("dev") for run in parents if every or run.run.recipe.orders_only}
    return {name: fit_platt(table["question_id"], table["label"], table["score"]) for name, table in dev.items()}


def _probabilities(run: StoredRun, split: str, platt: dict[str, dict[str, Any]], column: str = "score") -> Any:
    """A member's P(correct) over a split, (m,), by its `score` or its `last`, calibrated where `platt` says."""
    from as2lib.models.ensemble import calibrated_scores

    table = run.scores(split)
    scores = table[column].to_numpy()
    return calibrated_scores(platt[run.name], scores, table["question_id"]) if run.name in platt else scores


def ensemble(task: Task) -> dict[str, Any]:
    """The members' scores combined: their mean, a mean with weights tuned on dev, or a logistic regression on dev."""
    from as2lib.metrics.ranking import summary
    from as2lib.models import ensemble as ensembles

    members, recipe = task.parents["members"], task.run.recipe
    platt = calibration(task.run, members)
    parameters = [member.facts.get("parameters") for member in members]
    facts: dict[str, Any] = {} if None in parameters else {"parameters": sum(parameters)}  # of a file nobody knows them
    if platt:
        facts["calibration"] = platt
    if recipe.combine in ("logistic", "weighted"):
        dev, scores = members[0].scores("dev"), [_probabilities(member, "dev", platt) for member in members]

        def dev_map(score: Any) -> float:
            return summary(dev["question_id"], dev["label"], score)["MAP"]

        if recipe.combine == "logistic":
            facts |= ensembles.fit_logistic(scores, dev["label"])
        else:
            weights = ensembles.tuned_weights(scores, dev_map, recipe.trials, task.run.seed)
            facts |= {"weights": weights, "dev_MAP": dev_map(ensembles.mean(scores, weights))}
    for split in task.run.data:
        write_parquet(task.folder / "scores" / f"{split}.parquet", combined_scores(recipe, facts, members, split))
    return facts


def combined_scores(recipe: Any, facts: dict[str, Any], members: Sequence[StoredRun], split: str) -> Any:
    """The pairs of a split with an ensemble's `score`, and its `last`, by the last weights of its members, where all
    have these.

    facts: its `weights` and the `calibration` of its members, where it has them: in their order, as another study that
    published it may call them otherwise.
    """
    from as2lib.metrics.probability import sigmoid
    from as2lib.models import ensemble as ensembles

    columns, calibrations = {}, facts.get("calibration", {}).values()
    only_ordering = [member.name for member in members if member.run.recipe.orders_only] if calibrations else []
    platt = dict(zip(only_ordering, calibrations, strict=True))
    for column in ("score", "last") if all("last" in member.scores(split) for member in members) else ("score",):
        scores = [_probabilities(member, split, platt, column) for member in members]
        if recipe.combine == "logistic":
            columns[column] = sigmoid(ensembles.weigh(facts, scores))
        else:
            columns[column] = ensembles.mean(scores, facts.get("weights"))
    return members[0].scores(split)[["question_id", "position", "label"]].assign(**columns)
