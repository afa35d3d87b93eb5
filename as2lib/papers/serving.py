"""What serving a model costs, by backend and precision: reads what `python -m bench serving --full` kept."""

import json
from typing import TYPE_CHECKING, Any

import pandas

from as2lib.papers.cerberus import rows as cerberus
from as2lib.paths import find_root
from as2lib.study.run import Notebook

if TYPE_CHECKING:
    from as2lib.study import Study

TARGET = ["wikiqa:test"]  # what the kept measurement ranked
KEPT = "reports/bench.json"  # `python -m bench` writes it
COMMAND = "python -m bench serving --full"
LOSS = 0.5  # points of MAP that a faster precision may lose
SAME, RATE = "same first %", "pairs a second"
NAMES = {"same first as torch": SAME, **{f"ms, {count} candidates": f"ms for {count}" for count in (1, 10, 100)}}
COLUMNS = ["backend", "precision", "MAP", SAME, "MiB", "ms for 1", "ms for 10", "ms for 100", RATE, "processor"]


def notebooks(study: "Study") -> list[Notebook]:
    """Notebook 12; none for another target, or where nothing was measured."""
    if study.data.target.test != TARGET or not measured():
        return []
    question = "Which backend and precision serves fastest, at what loss?"
    reproduces = "no table: what a model costs to serve"
    return [Notebook("12_serving", question, reproduces, tuple(cerberus.trivial(study)), files=(KEPT,))]


def measured() -> dict[str, dict[str, Any]]:
    """What was measured of fitted models, "model: backend, precision" → a row; empty where nothing was."""
    path = find_root() / KEPT
    rows = json.loads(path.read_text(encoding="utf-8")).get("serving", {}).get("rows", {}) if path.exists() else {}
    return {name: row for name, row in rows.items() if "MAP" in row}


def table() -> pandas.DataFrame:
    """A row for each model with a backend and a precision, by model in the order of speed.

    MAP and "same first": percent, of questions whose first candidate is that of torch in float32; MiB: weights and
    graph on disk; "ms for n": processor time of a question with n candidates; pairs a second: of the whole test set.
    Raises ValueError where nothing was measured.
    """
    if not (rows := measured()):
        raise ValueError(f"{KEPT}: expected rows of `serving` with MAP, got none; measure them: {COMMAND}")
    names = pandas.Series(list(rows)).str.extract("(?P<system>.*?): (?P<backend>.*?), (?P<precision>.*)")
    columns = names.join(pandas.DataFrame(rows.values())).rename(columns=NAMES)
    columns[["MAP", SAME]] *= 100
    models = columns.set_index("system")[COLUMNS].groupby(level=0, sort=False)
    return pandas.concat([model.sort_values(RATE, ascending=False, kind="stable") for _, model in models])


def fastest(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Of each model that `as2 export` writes, the fastest row within `LOSS` of torch in float32.

    lost: points of MAP below torch; times: its pairs a second over torch's.
    """
    ours, best = rows[~rows.index.str.startswith("sentence-transformers")], {}
    for system, forms in ours.groupby(level=0, sort=False):
        plain = forms.query("backend == 'torch' and precision == 'float32'").iloc[0]
        row = forms[plain["MAP"] - forms["MAP"] <= LOSS].sort_values(RATE).iloc[-1]
        best[system] = {**row, "lost": plain["MAP"] - row["MAP"], "times": row[RATE] / plain[RATE]}
    return pandas.DataFrame.from_dict(best, orient="index").rename_axis("system")
