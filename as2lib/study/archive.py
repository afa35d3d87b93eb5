"""Published scores as one file, for an archive or a data set of the hub, and back; makes no run."""

import io
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from string import Template
from urllib.parse import urlparse
from urllib.request import urlopen

from as2lib.paths import PACKAGE, find_root, whole_file, work_folder
from as2lib.study.store import Store
from as2lib.study.study import Study

SECONDS = 60.0  # that a host may be silent
CARD, SUMS, INDEX = "README.md", "SHA256SUMS", "index.json"


def write(study: Study) -> Path:
    """`work/archive/<study>.tar`: a card, each published file and its SHA-256; the same bytes whenever it is written.

    Raises ValueError where nothing of the study is published.
    """
    store = study.store
    if not store.index:
        raise ValueError(f"{study.study}: expected published scores, got none; `as2 publish {study.study}` adds them")
    contents = {name: (store.index_folder / name).read_bytes() for name in sorted(named(store))}
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


def named(store: Store) -> set[str]:
    """The files of a study's published runs, by their paths in its folder `runs`."""
    files = {INDEX, "sources.json"} if store.index else set()
    for run, entry in store.index.items():
        files |= {str(PurePosixPath(run).parent / file) for file in entry["files"]}
        files |= {f"pairs/{file}" for file in entry.get("pairs", {}).values()}
    return files


def fetch(study: Study, source: str) -> int:
    """Bring the scores of an archive to `reports/<study>/runs/`; returns how many files came.

    source: a folder or a .tar file that `write` left, or the URL of such a file.
    Raises ValueError for a file that is not as `SHA256SUMS` says, and where a run's bytes are not those that this
    clone's own index names; then nothing is written.
    """
    with _folder(source) as folder:
        [sums] = [*folder.glob(SUMS), *folder.glob(f"*/{SUMS}")][:1] or [None]
        if sums is None:
            raise ValueError(f"{source}: expected an archive of `as2 archive`, got no {SUMS}")
        lines = [line.split("  ", 1) for line in sums.read_text(encoding="utf-8").splitlines()]
        contents = {}
        for digest, name in lines:
            if name != str(PurePosixPath(name)) or ".." in PurePosixPath(name).parts or name.startswith("/"):
                raise ValueError(f"{source}: expected files below the archive, got {name!r}")
            content = (sums.parent / name).read_bytes() if (sums.parent / name).is_file() else b""
            if sha256(content).hexdigest() != digest:
                raise ValueError(f"{source}: {name}: not as {SUMS} says; fetch it again")
            if name != CARD:
                contents[name] = content
    for run, entry in study.store.index.items():
        files = {str(PurePosixPath(run).parent / file): digest for file, digest in entry["files"].items()}
        if any(name in contents and sha256(contents[name]).hexdigest() != digest for name, digest in files.items()):
            raise ValueError(f"{source}: {run}: expected the bytes that {study.study}'s {INDEX} names, got others")
    target = find_root() / "reports" / study.study / "runs"
    for name, content in sorted(contents.items(), key=lambda item: item[0] == INDEX):  # the index last
        if name == INDEX and study.store.index:
            continue
        with whole_file(target / name) as temporary:
            temporary.write_bytes(content)
    return len(contents)


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
            with urlopen(source, timeout=SECONDS) as answer:
                file.write_bytes(answer.read())
        elif not Path(source).exists():
            raise FileNotFoundError(f"{source}: expected a folder, a .tar file or a URL, got none")
        with tarfile.open(file) as archive:
            archive.extractall(Path(temporary, "unpacked"), filter="data")
        yield Path(temporary, "unpacked")
