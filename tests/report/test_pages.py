import re

import nbformat
import pandas
import pytest

from as2lib.report.pages import render
from as2lib.report.tables import styled


def page(tmp_path, *cells, **settings) -> str:
    executed = tmp_path / "executed.ipynb"
    head = nbformat.v4.new_markdown_cell("# 01 · The data\n\nSee [teachers](02_teachers.ipynb), [own](12_own.ipynb).")
    nbformat.write(nbformat.v4.new_notebook(cells=[head, *cells]), executed)
    names = ["00_overview", "01_data", "02_teachers"]
    return render(executed, tmp_path / "01_data.html", names, **settings).read_text()


def test_heading_and_title_name_the_study_findings_stand_under_the_question_and_links_lead_on(tmp_path):
    text = nbformat.v4.new_markdown_cell("Trials: [docs/numbers.md](../docs/numbers.md).")
    found = nbformat.v4.new_markdown_cell("What we found", metadata={"tags": ["findings"]})
    html = page(tmp_path, text, found, study="WikiQA", others={"selqa": "../selqa/01_data.html"})
    assert "<title>WikiQA · 01 · The data</title>" in html
    assert html.index(">WikiQA · 01 · The data<") < html.index("What we found") < html.index("Trials")
    for link in ('<a href="../selqa/01_data.html">selqa</a>', '<a href="02_teachers.html">teachers</a>'):
        assert link in html
    assert 'href="../../docs/numbers.md"' in html
    assert "12_own" not in html


def code(source: str, **data: str) -> nbformat.NotebookNode:
    data = {f"text/{kind}": text for kind, text in data.items()}
    return nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output("execute_result", data)])


@pytest.mark.parametrize("folded", [False, True])
def test_a_table_has_its_caption_above_a_box_that_scrolls_and_is_folded_where_asked(tmp_path, folded):
    shown = pandas.DataFrame({"system": ["s1", "s2"], "MAP": ["1.0"] * 2})
    commands = '<b>Table 1.1.</b> All. <details class="made"><summary>commands</summary></details>'
    html = page(tmp_path, code("table", html=styled(shown, commands, "t", folded).to_html()))
    caption, box, commands = (html.index(part) for part in ("<b>Table 1.1.</b>", 'class="scroll"', ">commands<"))
    assert caption < box < commands
    assert "<caption>" not in html
    assert html.count('scope="row"') == 2
    assert ("<summary>Table 1.1: its 2 rows" in html) == folded


def test_what_is_printed_for_who_works_in_the_notebook_is_shown_with_the_code_alone(tmp_path):
    bare = pandas.DataFrame({"MAP": [0.123456]})
    cells = [
        code("bare", html=bare.to_html(), plain=str(bare)),
        code("text", plain="{'alpha': 0.5}"),
        code("table", html=styled(pandas.DataFrame({"system": ["s"], "MAP": ["1.0"]}), "", "t").to_html()),
        code("figure", html='<figure class="as2-figure"></figure>'),
        code("line", markdown="Study `tiny`"),
    ]
    classes = re.findall('<section class="code-cell *([a-z]*)">', page(tmp_path, *cells))
    assert classes == ["peek", "peek", "", "", ""]
