"""Whether a study gave the numbers it is expected to give, and what exactly it gave; only reads, and runs nothing."""

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas

from as2lib.paths import find_root
from as2lib.study.store import write_json

if TYPE_CHECKING:
    from as2lib.study import Study

OVERVIEW = "00"  # the notebook without expected numbers, since it reads those of the others
NEAR = 0.02  # what another processor or library may change of a number from the same scores


def measured(study: "Study") -> dict[str, dict[str, Any]]:
    """The numbers that each notebook recorded, by the notebook's number; a notebook that was not run is missing.

    Raises ValueError that names a file that can't be read.
    """
    numbers = {}
    for path in sorted((find_root() / "reports" / study.variant / "metrics").glob("[0-9][0-9].json")):
        try:
            numbers[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, OSError) as error:
            raise ValueError(f"{path}: expected the numbers that a notebook recorded, got {error}") from None
    return numbers


def flat(numbers: dict[str, Any]) -> dict[str, Any]:
    """ "mhs/3h1" → {"MAP": …} as "mhs/3h1 MAP" → …"""
    result = {}
    for name, value in numbers.items():
        if isinstance(value, dict):
            result |= {f"{name} {column}": item for column, item in value.items()}
        else:
            result[name] = value
    return result


def expected_file(study: "Study") -> Path:
    return find_root() / "params" / "expected" / f"{study.study}.json"


def expected(study: "Study") -> dict[str, dict[str, dict[str, float]]]:
    """Notebook number → name → `value` and `tolerance`; empty where the study has no such file."""
    path = expected_file(study)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_expected(study: "Study") -> Path:
    """`params/expected/<study>.json`: the numbers that its notebooks recorded, but for the overview's.

    Counts must be the same, other numbers within `NEAR`.  Raises ValueError for a study without published scores: what
    is trained anew elsewhere needs a tolerance of its own for each number, set by hand.
    """
    if not study.store.index:
        raise ValueError(f"{study.study}: expected a study whose scores are published, got one that is trained anew")
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for number, numbers in measured(study).items():
        for name, value in flat(numbers).items():
            if number != OVERVIEW and type(value) in (int, float):
                tolerance = 0 if type(value) is int else NEAR
                rows.setdefault(number, {})[name] = {"value": round(value, 3), "tolerance": tolerance}
    path = expected_file(study)
    write_json(path, rows)
    return path


def moved(study: "Study") -> list[str]:
    """One line for each number that is missing or further from its expected value than its tolerance."""
    numbers, lines = {number: flat(values) for number, values in measured(study).items()}, []
    for number, names in expected(study).items():
        for name, wanted in names.items():
            value = numbers.get(number, {}).get(name)
            if value is None:
                lines.append(f"{number}: {name}: expected {wanted['value']:g}, not measured")
            elif not abs(value - wanted["value"]) <= wanted["tolerance"]:
                lines.append(f"{number}: {name}: expected {wanted['value']:g} ± {wanted['tolerance']:g}, got {value:g}")
    return lines


def by_notebook(study: "Study") -> pandas.DataFrame:
    """How many numbers of each notebook are expected, and how many moved; `which` names them."""
    lines = moved(study)
    rows = {}
    for number, names in expected(study).items():
        of_notebook = [line for line in lines if line.startswith(f"{number}: ")]
        rows[number] = {"expected": len(names), "moved": len(of_notebook), "which": "; ".join(of_notebook)}
    return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("notebook")


def write_manifest(study: "Study") -> dict[str, Any]:
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
