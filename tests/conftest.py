"""What every test stands on: one thread a process, and the longest files first."""

import os
import sys

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported: models this small gain nothing by more
settings.register_profile("as2lib", deadline=None, derandomize=True)  # a busy machine is no error
settings.load_profile("as2lib")

# Given out first, so that at the end of the tests no core waits for one of them.
LONGEST = "notebooks pages package cluster docs taken families cli_training cli_scoring loop claims store".split()


def pytest_collection_modifyitems(items):
    order = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture
def folder(own_root, monkeypatch):
    """Where a user works, without a network: an empty root but for a file of pairs, `my.tsv`."""
    from as2lib.data import sets
    from tests.study.conftest import write_pairs

    monkeypatch.chdir(own_root)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    sets.note.cache_clear()
    write_pairs(own_root / "my.tsv")
    return own_root


@pytest.fixture
def own_root(tmp_path, monkeypatch):
    """An empty project."""
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def no_kernel(monkeypatch):
    """No test is a notebook's kernel because another of its process loaded ipykernel."""
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
