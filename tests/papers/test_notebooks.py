"""Every notebook over invented scores: it runs, and what it records is what findings will read."""

import json
import re

import pandas
import pytest

from as2lib.papers import beyond, paper_tables, row
from as2lib.papers.beyond import of_own_pairs
from as2lib.papers.row import of_own_target
from as2lib.study import results
from tests.papers.conftest import ROOT, InventedRun, run_notebook
from tests.papers.test_taken import LLM, scores_file

NAMES = [path.stem for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]
NAMES = [name for name in NAMES if name not in ("00_own", "13_across")]
MARK = 777318537
TAKEN = {"rankers": {"BM25": "bm25", "far": "org/none"}, "teachers.llm": LLM}  # which one's own data may have
SHOWN = {"02_teachers": {"teacher/llm"}, "03_distillation": {"teacher/llm", "ranker/bm25"}, "11_frontier": {"BM25"}}


def saved(root, name, overrides=None):
    """The files of a notebook that was run, by their suffix."""
    folder = root / "reports" / run_notebook(name, overrides)["study"].variant
    return [path for path in folder.rglob(f"{name[:2]}*") if path.suffix in (".csv", ".json", ".svg")]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_and_records_its_tables(invented, root, sections, name):
    files = saved(root, name, sections)
    assert json.loads(next(path for path in files if path.name == f"{name[:2]}.json").read_text(encoding="utf-8"))
    assert {".csv", ".svg"} <= {path.suffix for path in files}


def test_each_combination_of_drop_ratios_has_the_p_at_1_of_its_replay(invented, sections):
    page = run_notebook("08_cascade", sections)
    ratios = page["points"][["alpha_1", "alpha_2"]].map("{:g}".format).agg(", ".join, axis=1)
    replayed = page["chosen"].drop_duplicates("values").set_index("values")["dev P@1"]
    assert len(replayed) > 3  # beside the uniform ones
    assert replayed.to_dict() == pytest.approx(page["points"].set_index(ratios)["P@1"][replayed.index].to_dict())


def test_the_overview_has_the_lead_of_a_finding_that_holds(invented, root):
    holds = {"01_data": "questions == 3", "02_teachers": "questions == 4", "03_distillation": "mhs.MAP > 1"}
    said = {name: [{"say": "Three questions. All are easy.", "holds": condition}] for name, condition in holds.items()}
    for folder in ("params/findings", "reports/tiny/metrics"):
        (root / folder).mkdir(parents=True)
    (root / "params" / "findings" / "tiny.yaml").write_text(json.dumps(said))
    for name in holds:
        (root / "reports" / "tiny" / "metrics" / f"{name[:2]}.json").write_text('{"questions": 3}')
    html = run_notebook("00_overview")["questions"].data
    assert html.count("<em>Three questions.</em>") == 1
    assert html.index("01_data") < html.index("<em>") < html.index("02_teachers")


NOTHING_TRANSFERRED = {"data.transfer": None, "fit.transfer": None, "fit.direct": None}
FEW = ["student/sum", "student/robin", "hydra/3h1", "ensemble/bases", "mhs/one-albert", "taught-base/roberta"]


@pytest.mark.parametrize(
    ("name", "left_out", "changes"),
    [
        ("02_teachers", ["teacher/albert", "base/albert"], NOTHING_TRANSFERRED),
        ("03_distillation", FEW, NOTHING_TRANSFERRED),
        ("09_cosinet", ["ca/birnn", "cosinet/rnn"], {}),
        ("10_govern", ["govern/lr", "govern/ca-mkd"], {"govern.ablation": None}),
    ],
)
def test_a_row_that_is_not_run_stands_on_no_page(invented, root, sections, name, left_out, changes):
    govern = {"govern": sections["govern"]} if name == "10_govern" else {}
    files = saved(root, name, govern | changes | {"rows": {run: [] for run in left_out}})
    tables = [pandas.read_csv(path) for path in files if path.suffix == ".csv"]
    assert tables
    for table in tables:
        assert len(table)
        assert not (table.get("seeds", pandas.Series([1])) == 0).any()


@pytest.mark.parametrize(("name", "kind"), [("03_distillation", ""), ("06_head_teacher_agreement", "mhs")])
def test_systems_and_heads_that_are_never_right_stop_no_notebook(invented, root, monkeypatch, name, kind):
    scores = InventedRun.scores

    def never_right(run, split="test"):
        table = scores(run, split)
        wrong = [column for column in table if column == "score" or column.startswith("head_")]
        return table.assign(**dict.fromkeys(wrong, 1.0 - table["label"])) if run.name.startswith(kind) else table

    monkeypatch.setattr(InventedRun, "scores", never_right)
    assert saved(root, name)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_ones_own_target_has_nothing_published_and_what_is_taken(invented, root, sections, name, monkeypatch):
    monkeypatch.setattr(row, "of_own_target", of_own_target)
    printed = paper_tables.read

    def marked(paper, table):
        """A paper's table whose every number would be known again."""
        rows = printed(paper, table)
        return rows.assign(**dict.fromkeys(rows.select_dtypes("number"), MARK))

    monkeypatch.setattr(paper_tables, "read", marked)
    scores_file(root)
    texts = {path: path.read_text(encoding="utf-8") for path in saved(root, name, sections | TAKEN)}
    for path, text in texts.items():
        assert str(MARK) not in text.replace(",", ""), path
        assert not re.search("published|verdict|reproduced", text, re.IGNORECASE), path
    rows = {row for path in texts if path.suffix == ".csv" for row in pandas.read_csv(path, index_col=0).index}
    assert SHOWN.get(name, set()) <= rows
    assert name != "11_frontier" or "LLM teacher" not in rows  # what it costs nobody knows


def test_a_study_of_ones_own_pairs_is_one_page_with_what_each_system_gains_and_how_to_export_it(invented, monkeypatch):
    monkeypatch.setattr(beyond, "of_own_pairs", of_own_pairs)
    overrides = {"rankers": {"BM25": "bm25"}, "own": {"mine": {"loss": "ranknet"}}, "cosinet": None}
    page = run_notebook("00_own", overrides)
    assert [notebook.name for notebook in page["study"].notebooks] == ["00_own"]
    assert page["table"].loc["own/mine", ["− labels-only, low", "− BM25, high"]].notna().all()
    assert page["exported"]["MHS"] == "as2 export mhs/3h1/seed-0 model --study tiny"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Rows of the tables at their true sizes are not timed, and a thousand draws do."""

    def times(settings, rows=()):
        where = {"batch": 1, "tokens": settings.tokens, "device": "cpu", "threads": 1}
        return {row: {"seconds": [1.0, 1.2], **where} for row in rows or settings.rows}

    monkeypatch.setattr("as2lib.papers.cerberus.true_sizes.measure", times)
    monkeypatch.setattr(results, "DRAWS", 1000)
