import re

import nbformat
import pytest

from as2lib.report import pages
from as2lib.report.pages import render

NAMES = ["00_overview", "01_data", "02_teachers"]


@pytest.fixture
def executed(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell(
            "# 01 · The data\n\nSee [the overview](00_overview.ipynb), [02](02_teachers.ipynb)."
        ),
        nbformat.v4.new_code_cell("secret = 1", outputs=[nbformat.v4.new_output("stream", text="<shown>")]),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "01.ipynb")
    return tmp_path / "01.ipynb"


def test_a_page_has_a_title_folded_code_output_and_the_neighbours_that_there_are(executed, tmp_path):
    page = render(executed, tmp_path / "01_data.html", NAMES).read_text()
    assert "<title>01 · The data</title>" in page
    assert page.index("<details>") < page.index("secret") < page.index("</details>") < page.index("&lt;shown&gt;")
    assert page.count('href="02_teachers.html"') == 3
    assert page.count('href="index.html"') >= 4
    assert ".ipynb" not in page
    first = render(executed, tmp_path / "index.html", NAMES).read_text()
    assert "←" not in first
    last = render(executed, tmp_path / "02_teachers.html", NAMES).read_text()
    assert "→" not in last


def test_an_executed_notebook_and_its_page_hold_what_was_said_and_no_progress_bar(tmp_path, monkeypatch):
    def run(notebook, executed, *_, **__):
        made = nbformat.v4.new_output
        outputs = [made("stream", text=text) for text in ("said", "50 %|##  |\r100 %|####|")]
        outputs.append(made("display_data", data={"text/plain": ""}))  # the place of a bar in a cell
        cells = [nbformat.v4.new_markdown_cell("# 01"), nbformat.v4.new_code_cell("1", outputs=outputs)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), executed)

    monkeypatch.setattr(pages, "execute_notebook", run)
    executed = pages.execute(tmp_path / "01_data.ipynb", tmp_path / "executed" / "01.ipynb", "sample")
    assert [one["text"] for one in nbformat.read(executed, 4).cells[1].outputs] == ["said"]
    page = render(executed, tmp_path / "01_data.html", NAMES).read_text()
    assert "said" in page
    assert "####" not in page


def test_a_page_asks_nothing_of_the_network_and_is_the_same_again(executed, tmp_path):
    page = render(executed, tmp_path / "01_data.html", NAMES).read_text()
    assert not re.search("https?:", page.replace("http://www.w3.org", ""))
    assert "src=" not in page
    pages = [render(executed, tmp_path / folder / "01_data.html", NAMES).read_bytes() for folder in ("a", "b")]
    assert pages[0] == pages[1]
