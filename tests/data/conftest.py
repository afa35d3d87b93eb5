"""A fresh project for each test, without a params file that says anything; and rows to write in any format."""

import json

import pandas
import pytest

from as2lib.data import sets
from as2lib.data.sets import COLUMNS

ROWS = [
    ("q1", "Who?", "Ann did", 1),
    ("q1", "Who?", 'He said "no", twice', 0),
    ("q2", "When?", "NA", 1),
    ("q3", "Why?", "\u00fc \U0001f600 null", 0),
]


def dicts(rows, names=COLUMNS):
    return [dict(zip(names, row, strict=True)) for row in rows]


def rows_of(pairs):
    return [tuple(row[name] for name in COLUMNS) for row in pairs]


def write(path, rows, names=COLUMNS):
    """Writes rows in the format that the path ends in."""
    table = pandas.DataFrame(rows, columns=names, dtype=object)
    if path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)
    return path


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    folder = tmp_path / "root"
    (folder / "params").mkdir(parents=True)
    monkeypatch.setenv("AS2_ROOT", str(folder))
    monkeypatch.chdir(tmp_path)
    sets.note.cache_clear()
    return folder


@pytest.fixture
def write_local(root):
    """Maps names to folders, as a user's `params/local.yaml` does."""

    def write(**folders):
        local = {name: str(folder) for name, folder in folders.items()}
        (root / "params" / "local.yaml").write_text(json.dumps({"local": local}))

    return write
