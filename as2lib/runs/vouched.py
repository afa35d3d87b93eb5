"""What `done.json` vouches for: the hashes of a run's files, whose run it is and by which code; makes nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from as2lib.intact import Damaged, as_written, file_sha256, json_sha256, read_json, shown
from as2lib.runs.files import write_json

FILE = "done.json"
NOT_VOUCHED = {FILE, "model/README.md"}  # the card is the reader's to change


def write_done(folder: Path, facts: dict[str, Any], identity: str, code: str) -> None:
    """`done.json` of a run whose other files are written: facts, identity, code, and the SHA-256 of every file."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files = {name: file_sha256(folder / name) for name in names if name not in NOT_VOUCHED}
    content = {**facts, "identity": identity, "code": code, "files": files}
    write_json(folder / FILE, {**content, "sha256": json_sha256(content)})


def read_done(path: Path, anew: bool = False) -> dict[str, Any]:
    """What a `done.json` says, where each file is as it was written; a model removed as a whole is no damage.

    As the fields of `Finished`: facts; code, files: None and empty for a run made before they were kept.

    anew: read every file whole, whatever is remembered.
    Raises Damaged that names the first file that is not; FileNotFoundError where there is no `done.json`.
    """
    content = read_json(path)
    digest = content.pop("sha256", None)
    if (digest or "files" in content) and digest != json_sha256(content):
        raise Damaged(f"{shown(path)}: expected what was written, got another content")
    folder = path.parent.name  # a run's folder is called by its identity
    if (came := content.pop("identity", folder)[: len(folder)]) != folder:
        raise Damaged(f"{shown(path)}: expected that of run {folder}, got that of {came}")
    code, files = content.pop("code", None), content.pop("files", {})
    check_files(path.parent, files, anew)
    return {"facts": content, "code": code, "files": files}


def check_files(folder: Path, files: Mapping[str, str], anew: bool = False) -> None:
    """Raises Damaged that names the first file that is missing, or not of the SHA-256 it had."""
    without_model = not (folder / "model").exists()
    for name, digest in files.items():
        if without_model and name.startswith("model/"):
            continue
        try:
            same = as_written(folder / name, digest, anew)
        except FileNotFoundError:
            raise Damaged(f"{shown(folder / name)}: expected the file that the run left, got none") from None
        if not same:
            raise Damaged(f"{shown(folder / name)}: expected the file that the run left, got other bytes")
