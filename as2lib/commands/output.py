"""What commands write: files that appear whole, lines that a terminal takes, and how far they are; knows no pair."""

import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from as2lib.paths import whole_file

if TYPE_CHECKING:
    import pandas

TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # the direction of writing
SECONDS = 30  # between two lines of progress


def terminal(text: object) -> str:
    """A text for a terminal: what would command it, or turn the direction of writing, is shown as its `\\x…` code."""
    codes = {c for c in str(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in TURNS}
    return str(text).translate(str.maketrans({character: ascii(character)[1:-1] for character in codes}))


def require_place(path: str | Path | None, suffixes: tuple[str, ...] | None = None, *inputs: str | Path) -> None:
    """Raises FileNotFoundError or ValueError where a file can't be written, before any work is done.

    suffixes: of which its name must have one; None: any.  inputs: what the command reads and doesn't write over.
    """
    if path is None:
        return
    path = Path(path).expanduser()
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}, got {path.suffix or 'no end'}")
    if path.exists() and any(Path(read).exists() and path.samefile(read) for read in inputs):
        raise ValueError(f"{path}: expected another file than those that are read; name a new one")
    if path.is_dir():
        raise ValueError(f"{path}: expected the name of a file, got a folder")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder is not there; make it, or name another file")


@contextmanager
def text_file(path: str | Path | None) -> Iterator[TextIO]:
    """A text file that appears whole or not at all, whatever it replaces; standard output where no path is named.

    A pipe or a device is written as it is.
    """
    if path is None:
        yield sys.stdout
        return
    path = Path(path).expanduser().resolve()  # a link stays one: what it names is replaced
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        yield file


def write_table(table: "pandas.DataFrame", path: str | Path) -> None:
    """A table as CSV, TSV, JSONL or Parquet, by the end of its name; whole or not at all."""
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        with whole_file(Path(path).expanduser().resolve()) as temporary:
            table.to_parquet(temporary, index=False)
    else:
        with text_file(path) as file:
            if suffix == ".jsonl":
                table.to_json(file, orient="records", lines=True, force_ascii=False, double_precision=15)
            else:
                table.to_csv(file, sep="," if suffix == ".csv" else "\t", index=False, lineterminator="\n")
    print(f"wrote {path}", file=sys.stderr)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with each number of pairs done: shows a bar, or a line each half minute."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, unit=" pairs", unit_scale=True, desc=what) as bar:
            yield bar.update
        return
    started = before = time.monotonic()
    done = 0

    def say(pairs: int) -> None:
        nonlocal done, before
        done += pairs
        now = time.monotonic()
        if now - before >= SECONDS:
            before = now
            of = "" if total is None else f" of {total:,}"
            print(f"{what}: {done:,}{of} pairs in {now - started:.0f} s", file=sys.stderr, flush=True)

    yield say
