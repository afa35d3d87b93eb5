"""Notebook 12, for a study whose target is what the kept measurement ranked; reads JSON alone."""

from typing import TYPE_CHECKING, Any

from as2lib.intact import read_json
from as2lib.paths import find_root
from as2lib.runs.run import Notebook

if TYPE_CHECKING:
    from as2lib.study import Study

MEASURED_ON = ["wikiqa:test"]
KEPT = "reports/bench.json"  # `python -m bench` writes it
NAME, QUESTION = "12_serving", "Which backend and precision serves a model fastest, at what loss?"
NOTEBOOK = Notebook(NAME, QUESTION, "no table: what a model costs to serve", [], files=(KEPT,))


def rows() -> dict[str, dict[str, Any]]:
    """What was measured of fitted models, "model: backend, precision" → a row; empty where nothing was."""
    path = find_root() / KEPT
    found = read_json(path).get("serving", {}).get("rows", {}) if path.exists() else {}
    return {name: row for name, row in found.items() if "MAP" in row}


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 12, which reads no run; none for another target, or where nothing was measured."""
    return [] if left_out(study) else [NOTEBOOK]


def left_out(study: "Study") -> str:
    """Why the study has no notebook 12; empty where it has."""
    if study.data.target.test != MEASURED_ON:
        return f"{NAME} (measured on WikiQA)"
    return "" if rows() else f"{NAME} (not measured: python -m bench serving --full)"
