"""Whether a file is as it was written: hashes that are remembered, the seal of a cache's file; knows no run, no data.

A cache's file ends with the SHA-256 of all that stands before: readers of Arrow and numpy files stop earlier.
"""

import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from as2lib.paths import work_folder

MEMO = "sha256.jsonl"  # in work/: a line for each file that was read whole; a process adds lines and changes none
CACHES = ("encoded", "pairs", "vectors", "logits")  # folders of work/ that hold what can be made again
BOUND = 64 << 30  # bytes of all caches: past that those go first that were not read for longest
SEAL = b"\nsha256:"
_SEALED = len(SEAL) + 64
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_read: dict[str, tuple[int, dict[tuple[str, str], tuple[list[int], Any]]]] = {}  # memo → (bytes read, what it holds)
_written: list[int] = []  # bytes of the caches that this process wrote since it last looked at all of them


class Damaged(ValueError):
    """Raised where a file is not as it was written; the message names it."""


@cache
def note(message: str) -> None:
    """Say once what was found damaged, and what happens."""
    print(f"as2: {message}", file=sys.stderr, flush=True)


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds.  Raises Damaged, that names the file, where it holds anything else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # also of bytes that are no text
        content = None
    if not isinstance(content, dict):
        came = "something else" if path.stat().st_size else "an empty file"
        raise Damaged(f"{shown(path)}: expected a JSON object, got {came}")
    return content


def shown(path: Path) -> str:
    """A path as messages say it: from `work/` on, where it is there."""
    root = work_folder().parent
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def remembered(path: str | Path, what: str, compute: Callable[[str], Any], anew: bool = False) -> Any:
    """What `compute` says of a file, a JSON value, kept in `work/sha256.jsonl` as long as size and times stay.

    anew: whatever is remembered.  Raises FileNotFoundError where there is no such file.
    """
    path = os.path.abspath(path)
    status = os.stat(path)
    stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    known, value = _memo().get((path, what), (None, None))
    if anew or known != stamp:
        value = compute(path)
        _remember([path, what, stamp, value])
    return value


def file_sha256(path: str | Path, anew: bool = False) -> str:
    """The SHA-256 of a file's bytes, remembered.  Raises FileNotFoundError where there is no such file."""
    return remembered(path, "sha256", _sha256, anew)


def as_written(path: str | Path, digest: str, anew: bool = False) -> bool:
    """Whether a file's SHA-256 is the one given; where what is remembered says no, the file itself is asked."""
    return file_sha256(path, anew) == digest or (not anew and file_sha256(path, anew=True) == digest)


def json_sha256(content: Any) -> str:
    """The SHA-256 of JSON values, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def seal(path: Path) -> None:
    """End a cache's file, before it gets its name, with the SHA-256 of what it holds."""
    digest = _sha256(path)
    with path.open("ab") as file:
        file.write(SEAL + digest.encode())


def has_seal(path: Path) -> bool:
    """Whether a cache's file ends with a seal, whatever that says."""
    return _end(path).startswith(SEAL)


def sealed(path: Path, anew: bool = False) -> bool:
    """Whether a cache's file is there and as it was sealed; one that is not is named and removed."""
    if not path.exists():
        return False
    if remembered(path, "seal", _keeps_its_seal, anew):
        return True
    note(f"{shown(path)} is not as it was written; it is made again")
    path.unlink(missing_ok=True)
    return False


def keep_within_bound(just_written: Path) -> None:
    """Remove the files of all caches that were not read for longest, until `BOUND` holds.

    To look at all of them takes time: it is done at a process's first call, then for each 64th of the bound it wrote.
    """
    _written.append(just_written.stat().st_size)
    if len(_written) > 1 and sum(_written[1:]) < BOUND >> 6:
        return
    _written[:] = _written[:1]
    files = {path: path.stat() for name in CACHES for path in (work_folder() / name).glob("*") if path.is_file()}
    total = sum(status.st_size for status in files.values())
    for path in sorted(files, key=lambda path: files[path].st_atime_ns):
        if total <= BOUND:
            return
        if path != just_written:
            path.unlink(missing_ok=True)
            total -= files[path].st_size


def require_space(needed: int, what: str) -> None:
    """Raises OSError, in one line, where the file system of `work/` has not so many bytes left."""
    work_folder().mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(work_folder()).free < needed:
        raise OSError(f"no space left for {what}: it needs about {needed / 2**20:,.1f} MiB, {_free()}")


@contextmanager
def one_line_where_full(what: str) -> Iterator[None]:
    """Turns what libraries raise where a file system is full into an OSError of one line."""
    try:
        yield
    except Exception as error:
        if not _is_full(error):
            raise
        raise OSError(f"no space left for {what}: {_free()}") from None


def _free() -> str:
    free = shutil.disk_usage(work_folder()).free / 2**20
    return f"{free:,.1f} MiB are free in {work_folder()}; `as2 clean --stale` shows what no study needs"


def _is_full(error: BaseException | None) -> bool:
    while error is not None:
        if getattr(error, "errno", None) in _FULL or "No space left" in str(error):
            return True
        if isinstance(error, RuntimeError) and "PytorchStreamWriter" in str(error):  # torch.save says no more
            return True
        error = error.__cause__ or error.__context__
    return False


def _sha256(path: str | Path, dropped: int = 0) -> str:
    """Of the bytes of a file, without so many at its end."""
    total, left = hashlib.sha256(), os.path.getsize(path) - dropped
    with open(path, "rb") as file:
        while chunk := file.read(min(1 << 20, max(0, left))):
            total.update(chunk)
            left -= len(chunk)
    return total.hexdigest()


def _end(path: str | Path) -> bytes:
    """As many bytes of a file's end as a seal has."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - _SEALED))
        return file.read()


def _keeps_its_seal(path: str) -> bool:
    return _end(path) == SEAL + _sha256(path, _SEALED).encode()


def _memo() -> dict[tuple[str, str], tuple[list[int], Any]]:
    """What every process remembered so far; a damaged line says nothing."""
    path = _memo_file(os.environ.get("AS2_ROOT"), os.getcwd())
    size = os.path.getsize(path) if os.path.exists(path) else 0
    read, found = _read.get(path, (0, {}))
    if size < read:
        read, found = 0, {}
    if size > read:
        with open(path, "rb") as file:
            file.seek(read)
            lines = file.read(size - read)
        for line in lines.splitlines():
            try:
                name, what, stamp, value = json.loads(line)
                found[name, what] = (stamp, value)
            except (ValueError, TypeError):
                continue
    _read[path] = (size, found)
    return found


@cache
def _memo_file(root: str | None, here: str) -> str:
    """Where it is, given what decides that: looking for the root costs more than all else here."""
    return os.path.join(work_folder(), MEMO)


def _remember(line: list[Any]) -> None:
    path = work_folder() / MEMO
    found = _memo()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(line)}\n")  # its own line, whatever a full disk left of the one before
    except OSError:
        pass  # it is only a memo
    found[line[0], line[1]] = (line[2], line[3])
