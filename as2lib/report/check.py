"""Whether a study gave the numbers it is expected to give, and what exactly it gave; only reads, and runs nothing."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas

from as2lib.papers import Study
from as2lib.paths import find_root
from as2lib.study.findings import TEXTS
from as2lib.study.store import read_json, write_json

OVERVIEW = "00"  # the notebook without expected numbers, since it reads those of the others
TOLERANCE = 0.02  # what another processor or library may change of a number from the same scores


def measured(study: Study) -> dict[str, dict[str, Any]]:
    """Notebook number → what it recorded: "mhs/3h1 MAP" → 75.1; a notebook that was not run is missing."""
    numbers: dict[str, dict[str, Any]] = {}
    for path in sorted((find_root() / "reports" / study.variant / "metrics").glob("[0-9][0-9].json")):
        of_notebook = numbers.setdefault(path.stem, {})
        for name, value in read_json(path).items():
            if isinstance(value, dict):
                of_notebook |= {f"{name} {column}": item for column, item in value.items()}
            else:
                of_notebook[name] = value
    return numbers


def expected_file(study: Study) -> Path:
    return find_root() / "params" / "expected" / f"{study.study}.json"


def expected(study: Study) -> dict[str, dict[str, dict[str, float]]]:
    """Notebook number → name → `value` and `tolerance`."""
    path = expected_file(study)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_expected(study: Study) -> Path:
    """`params/expected/<study>.json`: what its notebooks recorded, but for the overview's; counts have no tolerance.

    Raises ValueError for a study without published scores, whose numbers need tolerances set by hand.
    """
    if not study.store.index:
        raise ValueError(f"{study.study}: expected a study whose scores are published, got one that is trained anew")
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for number, numbers in measured(study).items():
        for name, value in numbers.items():
            if number != OVERVIEW and type(value) in (int, float):
                tolerance = 0 if type(value) is int else TOLERANCE
                rows.setdefault(number, {})[name] = {"value": round(value, 3), "tolerance": tolerance}
    path = expected_file(study)
    write_json(path, rows)
    return path


def moved(study: Study) -> list[str]:
    """One line for each number that is missing or further from its expected value than its tolerance.

    Of what only texts tell, nothing is missed where they are not at hand.
    """
    numbers, lines = measured(study), []
    for number, names in expected(study).items():
        for name, wanted in names.items():
            value = numbers.get(number, {}).get(name)
            if value is None and not name.startswith(TEXTS):
                lines.append(f"{number}: {name}: expected {wanted['value']:g}, not measured")
            elif value is not None and not abs(value - wanted["value"]) <= wanted["tolerance"]:
                lines.append(f"{number}: {name}: expected {wanted['value']:g} ± {wanted['tolerance']:g}, got {value:g}")
    return lines


def by_notebook(study: Study) -> pandas.DataFrame:
    """How many numbers of each notebook are expected, and how many moved; `which` names them."""
    lines, rows = moved(study), {}
    for number, names in expected(study).items():
        of_notebook = [line for line in lines if line.startswith(f"{number}: ")]
        rows[number] = {"expected": len(names), "moved": len(of_notebook), "which": "; ".join(of_notebook) or None}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("notebook")


def write_manifest(study: Study) -> dict[str, Any]:
    """`reports/<study>/manifest.json`: the identity of every run, and the SHA-256 of every table that has no times."""
    folder = find_root() / "reports" / study.variant
    tables = [path for path in sorted((folder / "tables").glob("*.csv")) if not path.name.endswith(".timing.csv")]
    manifest = {
        "study": study.study,
        "tables": {path.name: sha256(path.read_bytes()).hexdigest() for path in tables},
        "runs": {name: study.store.identity(run) for name, run in study.plan.items()},
    }
    write_json(folder / "manifest.json", manifest)
    return manifest
