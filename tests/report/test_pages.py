import re
from base64 import b64encode
from hashlib import sha256
from html import unescape

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from as2lib.report.pages import execute, render, studies_with_pages


def page(tmp_path, *cells, **settings) -> str:
    executed = tmp_path / "executed.ipynb"
    head = new_markdown_cell("# 01 · The data\n\nSee [teachers](02_teachers.ipynb), [own](12_own.ipynb).")
    nbformat.write(nbformat.v4.new_notebook(cells=[head, *cells]), executed)
    names = ["00_overview", "01_data", "02_teachers"]
    return render(executed, tmp_path / "01_data.html", names, **settings).read_text()


def test_html_in_a_title_is_shown_as_text(tmp_path):
    title = '<meta http-equiv="refresh" content="0">'
    text = page(tmp_path, study=title, made_of=title, others={title: f"../{title}/index.html"})
    [heading] = re.findall("<h1[^>]*>(.*?)<a class=", text)
    assert unescape(heading) == f"{title} · 01 · The data"
    [made_of] = re.findall('<p class="study">(.*?)</p>', text)
    assert unescape(made_of) == title
    assert '<meta http-equiv="refresh"' not in text


def test_a_page_may_run_its_own_script_alone_and_asks_no_other_place(tmp_path):
    cell = new_markdown_cell("# A page\n\n<script>alert(1)</script>")
    text = page(tmp_path, cell, study="a", made_of="", others={})
    policy = re.search(r'<meta content="([^"]+)" http-equiv="Content-Security-Policy"', text)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] in {f"'sha256-{b64encode(sha256(s.encode()).digest()).decode()}'" for s in scripts}
    assert rules["img-src"] == "data:"
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_a_section_whose_code_shows_nothing_is_left_out(tmp_path):
    shown = nbformat.v4.new_output("display_data", {"text/html": "<p>a table</p>"})
    cells = [new_markdown_cell("## Nothing here"), new_code_cell("table"), new_markdown_cell("## Something")]
    cells.append(new_code_cell('study = "a"\nsave = "/tmp/x"', outputs=[shown]))
    text = page(tmp_path, *cells, study="a", made_of="", others={})
    assert "Something" in text
    assert "/tmp/x" not in text
    assert "Nothing here" not in text


def test_links_lead_to_studies_that_have_pages_too(own_root):
    files = ["a/scores/index.json", "a/index.html", "b/scores/index.json", "b/index.html", "b/01_data.html"]
    files += ["scores_alone/scores/index.json", "pages_alone/index.html"]
    for file in ["params/sample.yaml", *(f"reports/{file}" for file in files)]:
        (own_root / file).parent.mkdir(parents=True, exist_ok=True)
        (own_root / file).touch()
    assert studies_with_pages("a", "01_data", "../") == {"a": "../a/index.html", "b": "../b/01_data.html"}
    assert studies_with_pages("mine", "index", "").keys() == {"a", "b", "mine"}


def test_a_notebook_runs_by_this_python_whatever_its_authors_kernel(tmp_path):
    path, kernel = tmp_path / "01_data.ipynb", {"name": "conda-env-mine", "display_name": "mine", "language": "python"}
    first = new_code_cell('study = "a"\noverrides = {}', metadata={"tags": ["parameters"]})
    cells = [first, new_code_cell("print(study)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    executed = nbformat.read(execute(path, tmp_path / "out.ipynb", {"study": "b"}), as_version=4)
    assert executed.cells[-1].outputs[0].text == "b\n"
