"""What commands write: files that appear whole, and texts that any terminal takes; knows no pair, model or metric."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from as2lib.paths import whole_file

if TYPE_CHECKING:
    import pandas

TABLES = (".tsv", ".csv", ".jsonl", ".parquet")
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # reorder what stands beside them
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?%?", re.IGNORECASE)


def terminal(text: object) -> str:
    """A text for a terminal: what would command it, or turn the direction of writing, is shown as its `\\x…` code."""
    codes = {c for c in str(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _BIDI}
    return str(text).translate(str.maketrans({character: ascii(character)[1:-1] for character in codes}))


def cell(text: str) -> str:
    """A text for a cell of a csv file, on one line: what a spreadsheet would compute has an apostrophe before it."""
    text = re.sub(r"\r\n?|\n", " ", text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def require_place(path: str | Path | None, *inputs: str | Path) -> None:
    """Raises FileNotFoundError or ValueError where a file can't be written, before any work is done.

    inputs: what the command reads, which it doesn't write over.
    """
    if path is None:
        return
    path = Path(path).expanduser()
    if path.exists() and any(Path(read).exists() and path.samefile(read) for read in inputs):
        raise ValueError(f"{path}: expected another file than those that are read; name a new one")
    if path.is_dir():
        raise ValueError(f"{path}: expected the name of a file, got a folder")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder is not there; make it, or name another file")


@contextmanager
def text_file(path: str | Path | None) -> Iterator[TextIO]:
    """A text file that appears whole or not at all, whatever it replaces; standard output where no path is named.

    What UTF-8 has no code for, half a character, is written as "?".  A pipe or a device is written as it is.
    """
    if path is None:
        yield sys.stdout
        return
    path = Path(path).expanduser().resolve()  # a link stays one: what it names is replaced
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            yield file
        return
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", errors="replace", newline="") as file:
        yield file


def write_table(table: "pandas.DataFrame", path: str | Path) -> None:
    """A table as TSV, CSV, JSONL or Parquet, by the end of its name; whole or not at all."""
    path = Path(path).expanduser().resolve()
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        with whole_file(path) as temporary:
            table.to_parquet(temporary, index=False)
        return
    with text_file(path) as file:
        if suffix == ".jsonl":
            table.to_json(file, orient="records", lines=True, force_ascii=False, double_precision=15)
        else:
            table.to_csv(file, sep="," if suffix == ".csv" else "\t", index=False, lineterminator="\n")
