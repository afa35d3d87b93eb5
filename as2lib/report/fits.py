"""How the models of a page were fitted, and on what: read from their runs, never from a study's file."""

from collections.abc import Iterable
from typing import Any

import pandas

from as2lib.fit.schedules import CLIP
from as2lib.study.run import Row, Run
from as2lib.study.study import Study

MEAN = "mean of tokens"


def settings(study: Study, systems: Iterable[Row]) -> pandas.DataFrame:
    """One row for the fits that have everything in common, by their labels; the steps before the target's too."""
    labels: dict[tuple[tuple[str, Any], ...], list[str]] = {}
    for system in systems:
        run = system.runs(study)[0]
        for fit in run.lineage():
            if fit.kind == "fit":
                label = system.label if fit is run else f"{system.label}, step before"
                labels.setdefault(tuple(_of_fit(fit).items()), []).append(label)
    rows = [{"fits": "; ".join(names)} | dict(columns) for columns, names in labels.items()]
    return pandas.DataFrame(rows).set_index("fits") if rows else pandas.DataFrame()


def _of_fit(fit: Run) -> dict[str, Any]:
    spec, training = fit.spec, fit.spec["training"]
    length = f"{training['steps']:,}" if training.get("steps") else f"{training['epochs']} epochs"
    return {
        "loss": spec["loss"],
        "steps": length,
        "batch": training.get("batch_size") or f"{training['batch_tokens']:,} tokens",
        "rate": f"{training['learning_rate']:.2g}",
        "warm-up": training.get("warmup", 0.0),
        "gradient at most": CLIP,
        "dropout": spec.get("words", spec).get("dropout"),
        "alpha": spec.get("alpha"),
        "tau": spec.get("tau"),
        "classifier reads": None if "words" in spec else MEAN if fit.reads_every_token() else "first token",
    }
