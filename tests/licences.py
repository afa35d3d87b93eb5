"""`python -m tests.licences > docs/licences.md`: the licence of every locked package, as its own metadata say."""

import re
from importlib.metadata import PackageNotFoundError, files, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAD = """# Licences of what is installed

as2lib is under the MIT licence. It installs what `requirements.lock` names, each under the licence that its own
metadata state; `python -m tests.licences > docs/licences.md` writes this page, and a test compares it with the lock.

| package | version | licence |
|---|---|---|
"""


def locked(file: str = "requirements.lock") -> dict[str, str]:
    """Package → version."""
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))


def licence(package: str) -> str | None:
    """What a package says of its licence; None where it is not installed."""
    try:
        found = metadata(package)
    except PackageNotFoundError:
        return None
    kinds = [one.rsplit(" :: ", 1)[1] for one in found.get_all("Classifier", []) if one.startswith("License :: OSI")]
    said = (found["License"] or "").strip().split("\n")[0]
    return found["License-Expression"] or ", ".join(kinds) or said or _first_line(package) or "not stated"


def _first_line(package: str) -> str:
    """Of its licence's text."""
    texts = [file for file in files(package) or [] if re.match(r"LICEN[CS]E", file.name, re.IGNORECASE)]
    return next((line.strip() for file in texts for line in file.read_text().split("\n") if line.strip()), "")


def page() -> str:
    rows = [f"| {name} | {version} | {licence(name)} |" for name, version in sorted(locked().items())]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(page(), end="")
