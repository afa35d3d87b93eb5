import re
from html import unescape

import nbformat
import pytest

from as2lib.report.pages import execute, other_studies, parameter, render


def page(tmp_path, *cells, **settings) -> str:
    executed = tmp_path / "executed.ipynb"
    head = nbformat.v4.new_markdown_cell("# 01 · The data\n\nSee [teachers](02_teachers.ipynb), [own](12_own.ipynb).")
    nbformat.write(nbformat.v4.new_notebook(cells=[head, *cells]), executed)
    names = ["00_overview", "01_data", "02_teachers"]
    return render(executed, tmp_path / "01_data.html", names, **settings).read_text()


TITLES = {
    "HTML": '<meta http-equiv="refresh" content="0;url=http://elsewhere">',
    "a link": "[x](javascript:alert(1))",
    "emphasis": "*a* _b_ `c`",
    "a formula": r"$a_b$ \(c\)",
    "an entity": "&lt;b&gt;",
}


@pytest.mark.parametrize("kind", TITLES)
def test_a_title_is_shown_letter_by_letter(tmp_path, kind):
    others = {TITLES[kind]: f"../{TITLES[kind]}/index.html"}
    text = page(tmp_path, study=TITLES[kind], made_of=TITLES[kind], others=others)
    [heading] = re.findall("<h1[^>]*>(.*?)<a class=", text)
    assert unescape(heading) == f"{TITLES[kind]} · 01 · The data"
    [made_of] = re.findall('<p class="study">(.*?)</p>', text)
    assert unescape(made_of) == TITLES[kind]
    for raw in ('<meta http-equiv="refresh"', 'href="javascript', "<img", "<em>", "<b>"):
        assert raw not in text


def test_links_lead_to_studies_that_have_pages_too(tmp_path, monkeypatch):
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    files = ["a/runs/index.json", "a/index.html", "b/runs/index.json", "b/index.html", "b/01_data.html"]
    files += ["scores_alone/runs/index.json", "pages_alone/index.html"]
    for file in ["params/sample.yaml", *(f"reports/{file}" for file in files)]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert other_studies("a", "01_data") == {"b": "../b/01_data.html"}
    assert other_studies("b", "01_data") == {"a": "../a/index.html"}


def notebook(tmp_path, *cells, tags=("parameters",), **metadata):
    """A notebook with a cell of parameters for each tag."""
    first = [nbformat.v4.new_code_cell('study = "a"\noverrides = {}', metadata={"tags": [tag]}) for tag in tags]
    path = tmp_path / "01_data.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[*first, *cells], metadata=metadata), path)
    return path


@pytest.mark.parametrize("tags", [(), ("parameters", "parameters"), ("other",)])
def test_a_notebook_has_one_cell_of_parameters(tmp_path, tags):
    with pytest.raises(ValueError, match=rf"^01_data.ipynb: expected one cell [^\n]*got {tags.count('parameters')}$"):
        execute(notebook(tmp_path, tags=tags), tmp_path / "out.ipynb", {"study": "b"})


@pytest.mark.parametrize("content", ["", "[]", "no JSON"])
def test_a_file_that_is_no_notebook_is_named_in_one_line(tmp_path, content):
    path = tmp_path / "01_data.ipynb"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"^01_data.ipynb: expected [^\n]*$"):
        parameter(path, "overrides")


@pytest.mark.parametrize("metadata", [{}, {"kernelspec": {"name": "conda-env-mine", "display_name": "mine"}}])
def test_a_notebook_runs_by_this_python_whatever_its_authors_kernel_and_mark(tmp_path, metadata):
    path = notebook(tmp_path, nbformat.v4.new_code_cell("print(study)"), **metadata)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert parameter(path, "overrides") == "{}"
    executed = nbformat.read(execute(path, tmp_path / "out.ipynb", {"study": "b"}), as_version=4)
    assert executed.cells[-1].outputs[0].text == "b\n"


def test_a_kernel_that_is_killed_is_said_in_one_line(tmp_path):
    path = notebook(tmp_path, nbformat.v4.new_code_cell("import os; os.kill(os.getpid(), 9)"))
    with pytest.raises(ValueError, match=r"^01_data.ipynb: its kernel ended[^\n]*$"):
        execute(path, tmp_path / "out.ipynb", {"study": "b"})
