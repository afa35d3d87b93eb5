"""The notebooks of the other papers, and those over all papers, run over invented scores and record their numbers."""

import json
import re

import pytest

from as2lib.study import results
from tests.papers.conftest import run_notebook
from tests.papers.test_cerberus_notebooks import NAMES as CERBERUS
from tests.papers.test_cerberus_notebooks import no_clock as no_clock

MARK = 77731

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


@pytest.mark.parametrize("name", [*CERBERUS, *NAMES])
def test_a_page_of_ones_own_target_has_nothing_published(
    invented, root, sections, no_clock, own_target, name, monkeypatch
):
    printed = results.printed

    def marked(paper, table):
        """A paper's table whose every number would be known again."""
        rows = printed(paper, table)
        return rows.assign(**dict.fromkeys(rows.select_dtypes("number"), MARK))

    monkeypatch.setattr(results, "printed", marked)
    folder = root / "reports" / run_notebook(name, overrides=sections)["study"].variant
    saved = {path: path.read_text(encoding="utf-8") for path in folder.rglob(f"{name[:2]}*") if path.suffix != ".png"}
    assert saved
    for path, text in saved.items():
        assert str(MARK) not in text.replace(",", ""), path
        assert path.suffix in (".tex", ".svg") or not re.search("published|verdict|reproduced", text), path
