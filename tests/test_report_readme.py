"""The page that a code host shows, from a report folder written by hand."""

import json

import pandas
import pytest

from as2lib import Study
from as2lib.report.readme import write
from as2lib.report.tables import as_markdown


@pytest.fixture
def folder(root):
    folder = root / "reports" / "tiny"
    for name in ("tables", "figures", "metrics"):
        (folder / name).mkdir(parents=True)
    (folder / "tables" / "00_table_1.csv").write_text("system,MAP,MAP ±,published MAP\na|b,71.26,0.5,\nmean,70,,82.1\n")
    (folder / "metrics" / "03.json").write_text(json.dumps({"answer": "MHS is ahead.", "claims": "More."}))
    (folder / "metrics" / "11.json").write_text(json.dumps({"answer": "One system is on the front."}))
    return folder


def test_the_page_has_the_first_finding_of_each_notebook_and_the_tables_and_figures_that_are_there(folder):
    page = write(Study.load("tiny")).read_text(encoding="utf-8")
    assert page.startswith("# a study for the tests\n")
    assert "- MHS is ahead.\n- One system is on the front.\n\n" in page
    assert "| a&#124;b | 71.3 ± 0.5 | – |" in page
    assert "| 03_distillation | Does one model with k heads match the ensemble? | MHS is ahead. |" in page
    assert "## Accuracy against cost" not in page
    assert "p below 0.01 (Wilcoxon, Holm-corrected) counts as a difference" in page
    assert (
        "within 2 points of MAP, no less than gains that the papers report (MHS over its base model, WikiQA: 1.7)"
        in page
    )
    (folder / "figures" / "11_figure_1.png").write_bytes(b"")
    assert "](figures/11_figure_1.png)" in write(Study.load("tiny")).read_text(encoding="utf-8")


def test_the_further_sentences_of_a_finding_stand_below_it(folder):
    found = "MHS is 0.7 above, as Li et al. (2020) have it: equal (p = 0.1, i.e. not apart). It costs 1.2 times. 2 fit."
    (folder / "metrics" / "03.json").write_text(json.dumps({"answer": found}))
    page = write(Study.load("tiny")).read_text(encoding="utf-8")
    first, *more = found.replace(". It", ".@It").replace(". 2", ".@2").split("@")
    assert "\n".join([f"- {first}", *(f"  - {one}" for one in more), "- One system"]) in page


def test_numbers_stand_right_and_texts_left():
    table = pandas.DataFrame({"n": [1200], "said": ["x"]}, index=pandas.Index(["a"], name="system"))
    assert as_markdown(table).splitlines() == ["| system | n | said |", "| :-- | --: | :-- |", "| a | 1,200 | x |"]
