"""The notebooks of the other papers, and those over all papers, run over invented scores and record their numbers."""

import json

import pytest

from tests.papers.conftest import run_notebook

NAMES = ["08_cascade", "09_cosinet", "10_govern", "11_frontier", "13_across", "00_overview"]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_and_records_its_tables(invented, root, sections, name):
    space = run_notebook(name, overrides=sections)
    folder = root / "reports" / space["study"].variant
    assert json.loads((folder / "metrics" / f"{name[:2]}.json").read_text(encoding="utf-8"))
    assert list((folder / "tables").glob(f"{name[:2]}_table_*.csv"))


def test_rankers_that_are_not_run_stand_nowhere_on_the_frontier(invented, root):
    space = run_notebook("11_frontier", overrides={"rows": {"ensemble/teachers": [], "hydra/3h1": []}})
    labels = {space["study"].systems[name].label for name in ("ensemble/teachers", "hydra/3h1")}
    assert not labels & set(space["systems"].index)
