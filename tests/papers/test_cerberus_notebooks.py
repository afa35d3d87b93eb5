"""CERBERUS's notebooks over invented scores: they run, and what they record is what findings will read."""

import pytest

from as2lib.papers.cerberus import rows as systems
from as2lib.study import catalogue
from tests.papers.conftest import InventedRun, recorded, run_notebook

NAMES = [
    "01_data",
    "02_teachers",
    "03_distillation",
    "04_mhs_configs",
    "05_latency",
    "06_head_teacher_agreement",
    "07_significance",
]


@pytest.fixture
def no_clock(monkeypatch):
    """Rows of the tables at their true sizes are not timed."""

    def times(settings, rows=()):
        where = {"batch": 1, "tokens": settings.tokens, "device": "cpu", "threads": 1}
        return {row: {"seconds": [1.0, 1.2], **where} for row in rows or settings.rows}

    monkeypatch.setattr("as2lib.papers.cerberus.true_sizes.measure", times)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_and_records_its_tables(invented, root, no_clock, name):
    run_notebook(name)
    assert recorded(root, name[:2])
    assert list((root / "reports" / "tiny" / "tables").glob(f"{name[:2]}_table_*.csv"))


@pytest.mark.parametrize("name", NAMES[1:4] + NAMES[6:])
def test_a_study_that_transfers_nothing_and_leaves_rows_out_has_the_same_notebooks(invented, root, no_clock, name):
    kept = ("mhs/3h1", "base/electra", "student/electra", "teacher/", "lexical/")
    left_out = {row.run: [] for row in systems.systems(invented) if not row.run.startswith((*kept, "direct/"))}
    run_notebook(name, overrides={"rows": left_out, "data.transfer": None, "fit.transfer": None, "fit.direct": None})
    assert list(root.glob(f"reports/tiny-*/metrics/{name[:2]}.json"))


@pytest.mark.parametrize("only", ["cerberus.table2", "cerberus.table3", "cerberus.table4", "02"])
def test_a_table_or_a_notebook_alone_has_its_page(invented, root, no_clock, only):
    study, [page] = catalogue.part(invented, [only])
    run_notebook(page.name, overrides={"rows": study.rows})
    assert list(root.glob(f"reports/tiny*/metrics/{page.name[:2]}.json"))


@pytest.mark.parametrize("kind", ["mhs", ""])
@pytest.mark.parametrize("name", ["02_teachers", "03_distillation", "06_head_teacher_agreement", "07_significance"])
def test_systems_and_heads_that_are_never_right_stop_no_notebook(invented, root, no_clock, monkeypatch, name, kind):
    scores = InventedRun.scores

    def never_right(run, split="test"):
        table = scores(run, split)
        wrong = [column for column in table if column == "score" or column.startswith("head_")]
        return table.assign(**dict.fromkeys(wrong, 1.0 - table["label"])) if run.name.startswith(kind) else table

    monkeypatch.setattr(InventedRun, "scores", never_right)
    run_notebook(name)
    assert recorded(root, name[:2])
