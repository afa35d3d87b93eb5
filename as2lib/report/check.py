"""Whether a study gave the numbers it is expected to give, and what exactly it gave; only reads, and runs nothing."""

import json
import subprocess
from typing import Any

from as2lib.papers import Study
from as2lib.paths import file_sha256, find_root
from as2lib.study.findings import TEXTS_PREFIX
from as2lib.study.store import read_json, write_json

OVERVIEW = "00"  # the notebook without expected numbers, since it reads those of the others
TOLERANCE = 0.02  # what another processor or library may change of a number from the same scores


def _by_name(recorded: dict[str, Any]) -> dict[str, Any]:
    """What a notebook recorded, but for what it has not: "mhs/3h1 MAP" → 75.1."""
    numbers: dict[str, Any] = {}
    for name, value in recorded.items():
        numbers |= {f"{name} {key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
    return {name: value for name, value in numbers.items() if value is not None}


def committed(study: Study) -> dict[str, dict[str, dict[str, Any]]]:
    """Notebook number → name → `value` and `tolerance`: what git's HEAD has of a study whose scores are published.

    The overview's are left out.  Counts and words, such as a verdict, have no tolerance.  {} outside a clone.
    """
    folder = f"HEAD:./reports/{study.name}/metrics"

    def git(*words: str) -> str:
        command = ["git", "-C", find_root(), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    rows = {}
    for file in git("ls-tree", "--name-only", folder).split() if study.store.index["runs"] else ():
        if file[:2] != OVERVIEW and ".timing." not in file:
            numbers = _by_name(json.loads(git("show", f"{folder}/{file}")))
            tolerances = {name: TOLERANCE if isinstance(value, float) else 0 for name, value in numbers.items()}
            rows[file[:2]] = {name: {"value": numbers[name], "tolerance": tolerances[name]} for name in numbers}
    return rows


def moved(study: Study) -> list[str]:
    """One line for each number that is missing or further from its expected value than its tolerance.

    Expected is what `params/expected/<study>.json` says, and else what is `committed`.  Of what only texts tell,
    nothing is missed where they are not at hand.
    """
    path = find_root() / "params" / "expected" / f"{study.name}.json"
    files = (find_root() / "reports" / study.variant / "metrics").glob("[0-9][0-9].json")
    numbers, lines = {file.stem: _by_name(read_json(file)) for file in files}, []
    wanted = read_json(path) if path.exists() else committed(study)
    if not numbers:
        return [f"{study.name}: expected its pages, got none; `as2 study {study.name}` makes them"]
    if not wanted and numbers.keys() - {OVERVIEW} and study.store.index["runs"]:
        return [f"{study.name}: expected what was published of it in git's HEAD, got none; `as2 check` needs a clone"]
    for number, names in wanted.items():
        for name, row in names.items():
            value = numbers.get(number, {}).get(name)
            target, tolerance = row["value"], row["tolerance"]
            if value is None and not name.startswith(TEXTS_PREFIX):
                lines.append(f"{number}: {name}: expected {target}, not measured")
            elif value not in (None, target) and not (tolerance and abs(value - target) <= tolerance):
                lines.append(f"{number}: {name}: expected {target} ± {tolerance:g}, got {value}")
    return lines


def write_manifest(study: Study) -> None:
    """`reports/<study>/manifest.json`: the identity of every run, and the SHA-256 of every table that has no times."""
    folder = find_root() / "reports" / study.variant
    tables = [path for path in sorted((folder / "tables").glob("*.csv")) if not path.name.endswith(".timing.csv")]
    digests = {path.name: file_sha256(path) for path in tables}
    runs = {name: study.store.identity(run) for name, run in study.plan.items()}
    write_json(folder / "manifest.json", {"study": study.name, "tables": digests, "runs": runs})
