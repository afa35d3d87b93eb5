"""What a command needs of its surroundings: a terminal of any encoding, and a place for libraries' caches."""

import os
import sys
import tempfile
from pathlib import Path

XDG = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")


def prepare() -> None:
    """Set up streams and environment, before any library reads them."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what a terminal has no code for is written as "?"
            stream.reconfigure(errors="replace")
    for library in ("TRANSFORMERS", "HF_HUB"):  # what they warn of, a command has seen to or says itself
        os.environ.setdefault(f"{library}_VERBOSITY", "error")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    if not sys.stderr.isatty():
        os.environ.setdefault("TQDM_DISABLE", "1")  # a log holds lines
    give_home()


def give_home() -> None:
    """Where HOME or an XDG folder can't be written to, libraries get a temporary folder instead.

    Models that the old home has in its hub cache are still read from there.
    """
    for name in XDG:
        if name in os.environ and not can_write(Path(os.environ[name])):
            del os.environ[name]
    home = Path(os.environ.get("HOME") or os.path.expanduser("~"))
    if can_write(home):
        return
    hub = home / ".cache" / "huggingface" / "hub"
    if hub.is_dir():
        os.environ.setdefault("HF_HUB_CACHE", str(hub))
    place = Path(tempfile.gettempdir()) / f"as2lib-home-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    os.environ["HOME"] = str(place)


def can_write(folder: Path) -> bool:
    """Whether a folder is there, or can be made, and takes files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
