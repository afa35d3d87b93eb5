import pytest

from tests.study.conftest import root  # noqa: F401


@pytest.fixture(autouse=True)
def pages_of_papers(monkeypatch):
    """The small sets of these tests have the papers' pages, not the one of pairs of one's own."""
    monkeypatch.setattr("as2lib.papers.beyond.of_own_pairs", lambda study: False)
