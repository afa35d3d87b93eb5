"""What commands write: files that appear whole, texts that a terminal takes, and how far they are; knows no pair."""

import csv
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from as2lib.data.sets import printable
from as2lib.paths import expanded, whole_file

if TYPE_CHECKING:
    import pandas

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def require_place(path: str | Path | None, suffixes: tuple[str, ...] = (), *others: str | Path | None) -> None:
    """Raises, before any work is done, where a file can't be written, or is one of the others that a command names."""
    if path is None:
        return
    path = expanded(path)
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}, got {path.suffix or 'no end'}")
    if any(path.resolve() == expanded(other).resolve() for other in others if other is not None):
        raise ValueError(f"{path}: expected another file than those that are read or written; name a new one")
    if path.is_dir():
        raise ValueError(f"{path}: expected a file, got a folder; name a file in it")
    _require_folder(path)


def require_free(out: Path) -> None:
    """Raises, before any work is done, where a folder can't be made."""
    out = expanded(out)
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"--out {out}: expected a new folder, got one with files in it, or a file; name another")
    _require_folder(out)


def _require_folder(path: Path) -> None:
    """Folders that a path names are made as it is written; the nearest that is there must let it."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: expected a folder that can be written, got {folder}; name another file")


def write_table(table: "pandas.DataFrame", path: str | Path, **options: Any) -> None:
    """A table as CSV, TSV, JSONL or Parquet, by the end of its name.  options: of `pandas.DataFrame.to_csv`."""
    suffix = expanded(path).suffix.lower()
    with whole_file(expanded(path).resolve()) as temporary:  # a link stays one: what it names is replaced
        if suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif suffix == ".jsonl":
            table.to_json(temporary, orient="records", lines=True, force_ascii=False, double_precision=15)
        else:
            write_csv(table, temporary, **{"sep": "," if suffix == ".csv" else "\t", **options})
    print(f"wrote {path}", file=sys.stderr)


def write_csv(table: "pandas.DataFrame", file: str | Path | IO[str], **options: Any) -> None:
    """A table as CSV; where a text holds a carriage return, which older Pythons don't quote, each text has quotes."""
    texts = table.select_dtypes(exclude="number")
    quoting = csv.QUOTE_NONNUMERIC if texts.map(lambda text: "\r" in str(text)).any(axis=None) else csv.QUOTE_MINIMAL
    table.to_csv(file, **{"index": False, "lineterminator": "\n", "quoting": quoting, **options})


def print_table(table: "pandas.DataFrame", **options: Any) -> None:
    """A table on standard output as CSV, its texts as a terminal takes them where there is one."""
    if sys.stdout.isatty():
        table = table.map(lambda value: printable(value) if isinstance(value, str) else value)
    write_csv(table, sys.stdout, **options)
