"""Tables that commands write: files that appear whole, or standard output; knows no pair."""

import csv
import sys
from pathlib import Path
from typing import Any

import pandas

from as2lib.paths import expanded, whole_file

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")


def require_place(path: str | Path | None, suffixes: tuple[str, ...] = (), *others: str | Path | None) -> None:
    """Raises, before any work is done, for a file of another end, or one of the others that a command names."""
    if path is None:
        return
    if suffixes and Path(path).suffix.lower() not in suffixes:
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}")
    if any(expanded(path).resolve() == expanded(other).resolve() for other in others if other is not None):
        raise ValueError(f"{path}: expected another file than those that are read or written")
    expanded(path).parent.mkdir(parents=True, exist_ok=True)


def write_table(table: pandas.DataFrame, path: str | Path | None, **options: Any) -> None:
    """A table as CSV, TSV, JSONL or Parquet, by the end of its name; None: as CSV on standard output.

    options: of `pandas.DataFrame.to_csv`.
    """
    # All texts have quotes: Python before 3.13 gives none to a text with a carriage return.
    options = {"index": False, "lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC, **options}
    if path is None:
        table.to_csv(sys.stdout, **options)
        return
    suffix = expanded(path).suffix.lower()
    with whole_file(expanded(path).resolve()) as temporary:  # a link stays one: what it names is replaced
        if suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif suffix == ".jsonl":
            table.to_json(temporary, orient="records", lines=True, force_ascii=False, double_precision=15)
        else:
            table.to_csv(temporary, **{"sep": "," if suffix == ".csv" else "\t", **options})
    print(f"wrote {path}", file=sys.stderr)


def print_rows(rows: list[dict[str, Any]], line: str, as_json: bool = False) -> None:
    """A table of named numbers, and a line that says how they were counted; or the rows alone, as JSON."""
    table = pandas.DataFrame(rows)
    if as_json:
        print(table.to_json(orient="records", double_precision=4), flush=True)
        return
    if "p" in table:
        table["p"] = table["p"].map("{:.2g}".format, na_action="ignore")
    print(f"{table.to_string(index=False, float_format='{:.2f}'.format, na_rep='')}\n{line}", flush=True)
