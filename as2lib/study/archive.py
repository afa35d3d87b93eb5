"""Published scores as one file, for an archive or a data set of the hub, and back; makes no run."""

import io
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from string import Template
from typing import Any
from urllib.parse import urlparse
from urllib.request import urlopen

from as2lib.paths import PACKAGE, whole_file, work_folder
from as2lib.study.store import read_index
from as2lib.study.study import Study

TIMEOUT = 60.0  # that a host may be silent
CARD, SUMS, INDEX, SOURCES = "README.md", "SHA256SUMS", "index.json", "sources.json"


def write(study: Study) -> Path:
    """`work/archive/<study>.tar`: a card, each published file and its SHA-256; the same bytes whenever it is written.

    Raises ValueError where nothing of the study is published.
    """
    store = study.store
    if not store.index:
        raise ValueError(f"{study.study}: expected published scores, got none; `as2 publish {study.study}` adds them")
    files = {INDEX, SOURCES} | published_files(store.index)
    contents = {name: (store.index_folder / name).read_bytes() for name in sorted(files)}
    card = Template((PACKAGE / "study" / "archive_card.md").read_text(encoding="utf-8"))
    fields = {"title": study.title, "study": study.study, "runs": len(store.index)}
    contents[CARD] = card.substitute(fields).encode()
    lines = [f"{sha256(content).hexdigest()}  {name}\n" for name, content in contents.items()]
    contents[SUMS] = "".join(lines).encode()
    path = work_folder() / "archive" / f"{study.study}.tar"
    with whole_file(path) as temporary, tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(contents.items()):
            member = tarfile.TarInfo(f"{study.study}/{name}")
            member.size, member.mode = len(content), 0o644  # and no time, no owner
            archive.addfile(member, io.BytesIO(content))
    return path


def published_files(index: dict[str, dict[str, Any]]) -> set[str]:
    """The files of the runs of an index, by their paths in the folder `runs`."""
    files = {f"pairs/{file}" for entry in index.values() for file in entry.get("pairs", {}).values()}
    return files.union(*({_path(run, file) for file in entry["files"]} for run, entry in index.items()))


def _path(run: str, file: str) -> str:
    return str(PurePosixPath(run).parent / file)


def fetch(study: Study, source: str) -> int:
    """Bring the scores of an archive to `reports/<study>/runs/`; returns how many files came.

    source: a folder or a .tar file that `write` left, or the URL of such a file.
    Raises ValueError, and writes nothing, where it is another study's, lacks a file of a run, or where bytes are not as
    `SHA256SUMS` or this clone's own index says, which stays as it is.
    """
    own_index = study.store.index
    with _folder(source) as folder:
        sums = next(iter([*folder.glob(SUMS), *folder.glob(f"*/{SUMS}")]), None)
        if sums is None:
            raise ValueError(f"{source}: expected an archive of `as2 archive`, got no {SUMS}")
        contents = {}
        for line in sums.read_text(encoding="utf-8").splitlines():
            digest, _, name = line.partition("  ")
            file = sums.parent / name
            if not file.resolve().is_relative_to(sums.parent.resolve()):
                raise ValueError(f"{source}: expected files below the archive, got {name!r}")
            contents[name] = file.read_bytes() if file.is_file() else b""
            if sha256(contents[name]).hexdigest() != digest:
                raise ValueError(f"{source}: {name}: not as {SUMS} says; fetch it again")
        if f"# Scores of the study `{study.study}`\n".encode() not in contents.get(CARD, b""):
            raise ValueError(f"{source}: expected an archive of {study.study}, got one of another study")
        index = own_index or read_index(sums.parent / INDEX)
    files = published_files(index)
    if missing := sorted(files.union({INDEX, SOURCES}) - contents.keys()):
        raise ValueError(f"{source}: expected {missing[0]}, as {INDEX} says, got none; another version of the study?")
    for run, entry in index.items():
        for file, digest in entry["files"].items():
            if sha256(contents[_path(run, file)]).hexdigest() != digest:
                raise ValueError(f"{source}: {run}: expected the bytes that {study.study}'s {INDEX} names, got others")
    order = [*sorted(files), *([] if own_index else [SOURCES, INDEX])]  # the index last
    for name in order:
        with whole_file(study.store.index_folder / name) as temporary:
            temporary.write_bytes(contents[name])
    return len(order)


@contextmanager
def _folder(source: str) -> Iterator[Path]:
    """The folder of an archive: where it lies, or unpacked for a while."""
    if Path(source).is_dir():
        yield Path(source)
        return
    with tempfile.TemporaryDirectory() as temporary:
        file = source
        if urlparse(source).scheme in ("http", "https", "file"):
            file = Path(temporary, "archive.tar")
            with urlopen(source, timeout=TIMEOUT) as answer:
                file.write_bytes(answer.read())
        elif not Path(source).exists():
            raise FileNotFoundError(f"{source}: expected a folder, a .tar file or a URL, got none")
        try:
            with tarfile.open(file) as archive:
                archive.extractall(Path(temporary, "unpacked"), filter="data")
        except tarfile.TarError as error:
            raise ValueError(f"{source}: expected a .tar file of `as2 archive`, got {error}") from None
        yield Path(temporary, "unpacked")
