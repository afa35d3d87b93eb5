"""The small sets of these tests have the papers' pages, not the one of pairs of one's own."""

from tests.papers.conftest import target_of_a_paper  # noqa: F401
from tests.study.conftest import root  # noqa: F401
