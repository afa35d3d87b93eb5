"""A fresh project for each test, without a params file that says anything."""

from pathlib import Path

import pytest

from as2lib.data import sets

REFERENCE = Path(__file__).parents[3] / "shared" / "data"  # real sets, on machines that have them


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    folder = tmp_path / "root"
    (folder / "params").mkdir(parents=True)
    monkeypatch.setenv("AS2_ROOT", str(folder))
    monkeypatch.chdir(tmp_path)
    sets.note.cache_clear()
    return folder


@pytest.fixture
def any_content(monkeypatch):
    """Known names may stand for other pairs than the published ones."""
    monkeypatch.setattr(sets, "FINGERPRINTS", {})


@pytest.fixture
def reference(root):
    """The real sets, mapped."""
    if not REFERENCE.exists():
        pytest.skip("no real sets on this machine")
    names = {name: str(REFERENCE / name) for name in ("wikiqa", "trecqa", "selqa")}
    lines = [f"  {name}: {folder}" for name, folder in names.items()]
    (root / "params" / "local.yaml").write_text("\n".join(["local:", *lines]))
    return REFERENCE
