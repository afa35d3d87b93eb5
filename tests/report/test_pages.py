import nbformat
import pandas
import pytest

from as2lib.report.pages import LONG, render
from as2lib.report.tables import styled


def page(tmp_path, *cells, name="01_data", **settings) -> str:
    executed = tmp_path / "executed.ipynb"
    head = nbformat.v4.new_markdown_cell("# 01 · The data\n\nSee [teachers](02_teachers.ipynb), [own](12_own.ipynb).")
    nbformat.write(nbformat.v4.new_notebook(cells=[head, *cells]), executed)
    return render(
        executed, tmp_path / f"{name}.html", ["00_overview", "01_data", "02_teachers"], **settings
    ).read_text()


def table(rows: int) -> nbformat.NotebookNode:
    shown = pandas.DataFrame({"system": [f"s{row}" for row in range(rows)], "MAP": ["1.0"] * rows})
    commands = '<b>Table 1.1.</b> All. <details class="made"><summary>commands</summary></details>'
    data = {"text/html": styled(shown, commands, "t").to_html()}
    return nbformat.v4.new_code_cell("table", outputs=[nbformat.v4.new_output("execute_result", data)])


def test_heading_and_title_name_the_study_and_the_head_leads_to_the_others(tmp_path):
    html = page(tmp_path, study="WikiQA", others={"selqa": "../selqa/01_data.html"})
    assert "<title>WikiQA · 01 · The data</title>" in html
    assert ">WikiQA · 01 · The data<" in html
    assert '<a href="../selqa/01_data.html">selqa</a>' in html
    assert '<a href="02_teachers.html">teachers</a>' in html
    assert "12_own" not in html


@pytest.mark.parametrize("rows", [2, LONG + 1])
def test_a_table_has_its_caption_above_a_box_that_scrolls_and_is_folded_where_it_is_long(tmp_path, rows):
    html = page(tmp_path, table(rows))
    caption, box, commands = (html.index(part) for part in ("<b>Table 1.1.</b>", 'class="scroll"', ">commands<"))
    assert caption < box < commands
    assert "<caption>" not in html
    assert html.count('scope="row"') == rows
    assert (f"<summary>Table 1.1: its {rows} rows" in html) == (rows > LONG)


def test_what_was_found_stands_under_the_question_and_links_to_docs_are_links(tmp_path):
    text = nbformat.v4.new_markdown_cell("Trials: [docs/numbers.md](../docs/numbers.md).")
    found = nbformat.v4.new_markdown_cell("What we found", metadata={"tags": ["findings"]})
    html = page(tmp_path, text, found)
    assert html.index("The data<") < html.index("What we found") < html.index("Trials")
    assert 'href="../../docs/numbers.md"' in html
