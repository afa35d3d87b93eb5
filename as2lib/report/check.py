"""Whether a study gave the numbers it is expected to give, and what exactly it gave; runs nothing."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.intact import Damaged, note, read_json
from as2lib.paths import find_root, params_file
from as2lib.runs.files import write_json

if TYPE_CHECKING:
    from as2lib.study import Study

NEAR = 0.02  # what another processor or library may change of a number from the same scores


def measured(study: "Study") -> dict[str, dict[str, Any]]:
    """The numbers that each notebook recorded, by the notebook's number; a notebook that was not run is missing.

    A damaged file is named and removed: the study then runs its notebook again.
    """
    found = {}
    for path in sorted((find_root() / "reports" / study.variant / "metrics").glob("[0-9][0-9].json")):
        try:
            found[path.stem] = read_json(path)
        except Damaged as error:
            note(f"{error}; it is removed, and the study runs its notebook again")
            path.unlink()
    return found


def expected(study: "Study") -> dict[str, dict[str, dict[str, float]]]:
    """Notebook number → name → `value` and `tolerance`; empty where the study has no such file."""
    path = params_file(f"expected/{study.study}.json")
    return read_json(path) if path.exists() else {}


def write_expected(study: "Study") -> Path:
    """`params/expected/<study>.json`: the numbers that its notebooks recorded; 00, which reads it, is left out.

    For a study whose scores are published: counts must be the same, other numbers within `NEAR`.
    """
    found, near = {}, {int: 0, float: NEAR}
    for number, names in measured(study).items():
        kept = {name: value for name, value in names.items() if type(value) in (int, float)}
        rows = {name: {"value": round(value, 3), "tolerance": near[type(value)]} for name, value in kept.items()}
        found |= {number: rows} if rows and number != "00" else {}
    path = find_root() / "params" / "expected" / f"{study.study}.json"
    path.parent.mkdir(exist_ok=True)
    write_json(path, found)
    return path


def moved(study: "Study") -> list[str]:
    """One line for each number that is missing or further from its expected value than its tolerance."""
    found, lines = measured(study), []
    for number, names in expected(study).items():
        for name, wanted in names.items():
            value = found.get(number, {}).get(name)
            if value is None:
                lines.append(f"{number}: {name}: expected {wanted['value']:g}, not measured")
            elif not abs(value - wanted["value"]) <= wanted["tolerance"]:
                lines.append(f"{number}: {name}: expected {wanted['value']:g} ± {wanted['tolerance']:g}, got {value:g}")
    return lines


def write_manifest(study: "Study") -> dict[str, Any]:
    """`reports/<study>/manifest.json`: the identity of every run, and the SHA-256 of every table that has no times."""
    folder = find_root() / "reports" / study.variant
    tables = [path for path in sorted((folder / "tables").glob("*.csv")) if not path.name.endswith(".timing.csv")]
    manifest = {
        "study": study.study,
        "tables": {path.name: sha256(path.read_bytes()).hexdigest() for path in tables},
        **({"overridden": changed} if (changed := study.overridden()) else {}),
        "runs": {name: study.store.identity(name) for name in study.plan},
    }
    write_json(folder / "manifest.json", manifest)
    return manifest
