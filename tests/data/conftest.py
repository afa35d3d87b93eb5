"""A fresh project for each test, without a params file that says anything; and rows to write in any format."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from as2lib.data import sets

REFERENCE = Path(__file__).parents[3] / "shared" / "data"  # real sets, on machines that have them
COLUMNS = ("question_id", "question", "answer", "label")
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
    if path.suffix == ".parquet":
        parquet.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)}), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in dicts(rows, names)))
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([names, *rows])
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


@pytest.fixture
def any_content(monkeypatch):
    """Known names may stand for other pairs than the published ones."""
    monkeypatch.setattr(sets, "FINGERPRINTS", {})


@pytest.fixture
def reference(write_local):
    """The real sets, mapped."""
    if not REFERENCE.exists():
        pytest.skip("no real sets on this machine")
    write_local(**{name: REFERENCE / name for name in ("wikiqa", "trecqa", "selqa")})
    return REFERENCE
