"""Runs notebooks and makes HTML pages of them: all pages beside the text, code one switch away, tables to sort."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from papermill import execute_notebook
from traitlets.config import Config

from as2lib.paths import find_root

TEMPLATE = Path(__file__).parent / "template"
FRONT = "13_across"  # that of all targets, reports/index.html
CONTENTS = "<!-- contents -->"  # where the template wants them
LINK = re.compile(r"\[([^\]]*)\]\((\d\d_\w+)\.ipynb\)")
PYTHON = {"kernel_name": "python3", "language": "python"}  # this one, whatever kernel a notebook's author had
HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)<a class="anchor-link"')
PLACE = re.compile(r'\nsave = ".*"')  # what a page's parameters say of this machine
UNCOLOURED = re.compile(r'<span class="(?!ow|[kscm])\w\w?">([^<]*)</span>')  # names and signs in code


def execute(notebook: Path, executed: Path, parameters: dict[str, Any]) -> Path:
    """Run a notebook in its folder with some parameters; where a cell fails, `executed` holds what was run."""
    executed.parent.mkdir(parents=True, exist_ok=True)
    quiet = ["--log-level=CRITICAL"]  # a kernel would tell that it talks unencrypted, and of the interrupt that ends it
    options = {"progress_bar": False, "extra_arguments": quiet, **PYTHON}
    execute_notebook(str(notebook), str(executed), parameters, cwd=str(notebook.parent), **options)
    return executed


def render(executed: Path, page: Path, names: list[str], study: str, made_of: str, others: Mapping[str, str]) -> Path:
    """Write the HTML of an executed notebook; `names` are all notebooks in reading order, to whose pages links lead.

    study: what a reader calls it, in the heading and the title.  made_of: stands below.  others: name of a study with
    pages, this one too → where its same page is.
    """
    notebook, front = nbformat.read(executed, as_version=4), find_root() / "reports" / "index.html"  # of all targets
    is_front = page == front
    name = FRONT if is_front else next(name for name in names if page_name(name) == page.stem)
    folder = f"{executed.parent.parent.name}/" if is_front else ""  # of the study's pages, from this one
    places = {each: f"{folder}{page_name(each)}.html" for each in names} | {FRONT: "../index.html"}

    def to_page(link: re.Match) -> str:
        return f"[{link[1]}]({places[link[2]]})" if link[2] in places else link[1]

    head, *rest = notebook.cells
    title, _, text = head.source.partition("\n\n")
    question, _, text = text.partition("\n\n") if text.startswith(">") else ("", "", text)
    if not is_front:
        title = f"# {escape(study)} · {title.removeprefix('# ')}"
        kind = "study banner" if study == "Sample" else "study"  # whose numbers are of an invented corpus
        title += f'\n\n<p class="{kind}">{escape(made_of)}</p>' * bool(made_of)
    # What was found is known last, and read first; what the page is made of comes after it.
    findings = [cell for cell in rest if "findings" in cell.metadata.get("tags", [])]
    rest = with_outputs([cell for cell in rest if cell not in findings])
    head.source = f"{title}\n\n{question}"
    findings = [cell for cell in findings if cell.cell_type == "code"]
    notebook.cells = [head, *findings, nbformat.v4.new_markdown_cell(text), *rest]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = str(number)  # papermill gives its own cell another one each time
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(to_page, cell.source)
            cell.source = cell.source if is_front else cell.source.replace("](../docs/", "](../../docs/")
        else:
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]  # bars and warnings
            cell.source = PLACE.sub("", cell.source)
            cell.metadata["peek"] = not any(map(_is_for_reader, cell.outputs))
    script = (TEMPLATE / "report.js").read_text(encoding="utf-8")
    resources = {
        "title": unescape(title.splitlines()[0].lstrip("# ").strip()),
        "js": script,
        "js_hash": f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",  # a page runs this script alone
        "pages": [(places[each], heading(each), each == name) for each in names if each != FRONT and not is_front],
        "studies": [(place, each, not is_front and each == page.parent.name) for each, place in others.items()],
        "front": "" if is_front or not front.exists() else places[FRONT],
        "notebook": f"{'..' if is_front else '../..'}/notebooks/{name}.ipynb",
    }
    options = {"template_name": "template", "extra_template_basedirs": [str(TEMPLATE.parent)]}
    exporter = HTMLExporter(config=Config(), exclude_input_prompt=True, **options)
    body, _ = exporter.from_notebook_node(notebook, resources={"as2": resources})
    contents = "\n".join(f'<li><a href="#{anchor}">{title}</a></li>' for anchor, title in HEADING.findall(body))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(UNCOLOURED.sub(r"\1", body.replace(CONTENTS, contents, 1)), encoding="utf-8")
    return page


def heading(name: str) -> str:
    """A notebook's title, without its number."""
    path = find_root() / "notebooks" / f"{name}.ipynb"
    first = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0] if path.exists() else name
    return first.lstrip("# ")


def studies_with_pages(study: str, page: str, up: str) -> dict[str, str]:
    """This study and those whose scores and pages are published → their same page, or else their index, below `up`."""
    reports = find_root() / "reports"
    published = {path.parent.parent.name for path in reports.glob("*/scores/index.json")}
    names = {study} | {name for name in published if (reports / name / "index.html").exists()}
    pages = {name: page if (reports / name / f"{page}.html").exists() else "index" for name in sorted(names)}
    return {name: f"{up}{name}/{same}.html" for name, same in pages.items()}


def with_outputs(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Without the sections whose code shows nothing, since a study does not run what they are about."""
    sections: list[list[nbformat.NotebookNode]] = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.startswith(("## ", "**How ")):
            sections.append([])
        sections[-1].append(cell)
    for section in sections[1:]:
        outputs = [output for cell in section if cell.cell_type == "code" for output in cell.outputs]
        if any(cell.cell_type == "code" for cell in section) and not any(map(_is_for_reader, outputs)):
            sections.remove(section)
    return [cell for section in sections for cell in section]


def page_name(name: str) -> str:
    return "index" if name.startswith("00_") else name


def _is_for_reader(output: nbformat.NotebookNode) -> bool:
    """Whether an output is more than what Jupyter prints of a plain object: text, or a bare table of pandas."""
    data = output.get("data", {})
    return bool(data.keys() - {"text/plain"}) and 'class="dataframe"' not in data.get("text/html", "")
