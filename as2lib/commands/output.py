"""What commands write: files that appear whole, lines that a terminal takes, and how far they are; knows no pair."""

import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from as2lib.paths import whole_file

if TYPE_CHECKING:
    import pandas

TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # the direction of writing
SECONDS = 30  # between two lines of progress, where there is no terminal


def terminal(text: object) -> str:
    """A text for a terminal: what would command it, or turn the direction of writing, is shown as its `\\x…` code."""
    codes = {c for c in str(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in TURNS}
    return str(text).translate(str.maketrans({character: ascii(character)[1:-1] for character in codes}))


def require_place(path: str | Path | None, suffixes: tuple[str, ...] = (), *inputs: str | None) -> None:
    """Raises, before any work is done, where a file can't be written, or is one of the command's inputs."""
    if path is None:
        return
    path = Path(path).expanduser()
    if suffixes and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path}: expected a file that ends in {', '.join(suffixes)}, got {path.suffix or 'no end'}")
    if path.exists() and any(name and Path(name).exists() and path.samefile(name) for name in inputs):
        raise ValueError(f"{path}: expected another file than those that are read; name a new one")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder is not there; make it, or name another file")


def require_free(out: Path) -> None:
    """Raises, before any work is done, where a folder can't be made."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"--out {out}: expected a new folder, got one with files in it, or a file; name another")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out {out}: its folder is not there; make it, or name another")


def write_table(table: "pandas.DataFrame", path: str | Path, **options: Any) -> None:
    """A table as CSV, TSV, JSONL or Parquet, by the end of its name.  options: of `pandas.DataFrame.to_csv`."""
    suffix = Path(path).suffix.lower()
    with whole_file(Path(path).expanduser().resolve()) as temporary:  # a link stays one: what it names is replaced
        if suffix == ".parquet":
            table.to_parquet(temporary, index=False)
        elif suffix == ".jsonl":
            table.to_json(temporary, orient="records", lines=True, force_ascii=False, double_precision=15)
        else:
            options = {"sep": "," if suffix == ".csv" else "\t", **options}
            table.to_csv(temporary, index=False, lineterminator="\n", **options)
    print(f"wrote {path}", file=sys.stderr)


def progress(what: str, total: int) -> Any:
    """tqdm's bar of pairs; where there is no terminal a line each half minute."""
    from tqdm import tqdm

    pace = {} if sys.stderr.isatty() else {"mininterval": SECONDS, "delay": SECONDS, "ascii": True}
    return tqdm(total=total, unit=" pairs", unit_scale=True, desc=what, disable=False, **pace)
