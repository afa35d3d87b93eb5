"""A study whose texts are instructions, from its files to a browser, a terminal and the files that a user opens."""

import shutil
import subprocess

import matplotlib
import nbformat
import pandas
import pytest
import yaml
from bs4 import BeautifulSoup

from as2lib import Study
from as2lib.report import Report, figures
from as2lib.report.pages import render
from tests.hostile import HOSTILE
from tests.invented import executed, invent
from tests.test_escape import words

matplotlib.use("agg")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-extensions"
NAMES = ["00_overview", "01_data", "02_teachers"]


@pytest.fixture
def study(root, monkeypatch):
    """The tiny study, its title, labels and questions replaced; scores are invented."""
    monkeypatch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
    for file in root.glob("*.tsv"):
        pairs = pandas.read_csv(file, sep="\t")
        for place, column in enumerate(("question", "answer")):
            order = pairs["question_id"].factorize()[0] if column == "question" else range(len(pairs))
            pairs[column] += [f" {' '.join(HOSTILE[(number + place) % len(HOSTILE)].split())}" for number in order]
        pairs["question_id"] = [f"={name} a\u3000b" for name in pairs["question_id"]]
        pairs.to_json(file.with_suffix(".jsonl"), orient="records", lines=True)
    text = (root / "params" / "tiny.yaml").read_text().replace(".tsv", ".jsonl")
    content = yaml.safe_load(text) | {"title": " ".join(HOSTILE[:7])}
    for number, family in enumerate(content["backbones"].values()):
        family["name"] = HOSTILE[number]
        family["large"]["label"] = HOSTILE[number + 10]
    (root / "params" / "tiny.yaml").write_text(yaml.safe_dump(content))
    found = Study.load("tiny")
    invent(found)
    return found


def seen_by_a_browser(page):
    """The page as a browser makes it, its policy taken away, which would forbid what must not be there at all."""
    text = page.read_text(encoding="utf-8")
    assert text.count('http-equiv="Content-Security-Policy"') == 1
    page.with_name("open.html").write_text(text.replace("Content-Security-Policy", "none"), encoding="utf-8")
    command = [CHROMIUM, *FLAGS.split(), f"--user-data-dir={page.parent / 'browser'}", "--dump-dom"]
    command += ["--virtual-time-budget=2000", (page.with_name("open.html")).as_uri()]
    return BeautifulSoup(subprocess.run(command, capture_output=True, text=True, timeout=120).stdout, "html.parser")


def foreign(page):
    """What no report holds, wherever it came from."""
    elements = page.find_all(["iframe", "object", "embed", "base", "form", "link", "img", "audio", "video"])
    elements = [element for element in elements if element.get("href") != "data:,"]
    scripts = page.find_all("script")[:-1]  # the last one is the report's
    handlers = [element for element in page.find_all() if any(name.startswith("on") for name in element.attrs)]
    links = [link for link in page.find_all(href=True) if ":" in link["href"].removeprefix("data:,")]
    return elements + scripts + handlers + links


@pytest.mark.skipif(CHROMIUM is None, reason="no browser here: a page is not read as one would")
def test_a_browser_shows_hostile_texts_and_runs_none_of_them(study, root, monkeypatch):
    monkeypatch.setattr(Study, "load", classmethod(lambda cls, *_: study))
    report = Report(study, "02_teachers")
    hostile = pandas.DataFrame({text: [text, 1.5] for text in HOSTILE}, index=pandas.Index(HOSTILE[:2], name="<b>"))
    frame = pandas.DataFrame({"x": [1, 2], "y": [1, 3], "system": HOSTILE[:2]})
    drawn = figures.lines(frame, "x", "y", "system", HOSTILE[8], HOSTILE[0], HOSTILE[9])
    shown = [report.table(hostile, 1, text, text, keep=False).data for text in HOSTILE]
    shown.append(report.figure(drawn, 1, HOSTILE[0], HOSTILE[1]).data)
    outputs = [nbformat.v4.new_output("display_data", data={"text/html": html}) for html in shown]
    said = {"text/markdown": report.say(*HOSTILE).data}
    outputs.append(nbformat.v4.new_output("display_data", data=said))
    outputs.append(nbformat.v4.new_output("stream", text="\n".join(HOSTILE)))
    cells = [nbformat.v4.new_markdown_cell("# 02"), nbformat.v4.new_code_cell("report", outputs=outputs)]
    notebooks = {"01_data": executed("01_data", monkeypatch)[1], "02_teachers": nbformat.v4.new_notebook(cells=cells)}
    notebooks["index"] = executed("00_overview", monkeypatch)[1]
    for name, notebook in notebooks.items():
        nbformat.write(notebook, root / f"{name}.ipynb")
        page = seen_by_a_browser(render(root / f"{name}.ipynb", root / "pages" / f"{name}.html", NAMES))
        assert page.title.text != "ran"
        assert not foreign(page), name
        assert len(page.main.text) > 1000
        text = words(page.main.text)
        expected = {"index": study.title, "01_data": words(HOSTILE[0])}.get(name)
        for shown in [expected] if expected else HOSTILE:
            assert words(shown) in text
    assert not list(root.rglob("PWNED"))
    for file in (root / "reports").rglob("*.csv"):
        assert not any(
            cell.lstrip('"')[:1] in set("=+@\t") for line in file.read_text().split("\n") for cell in line.split(",")
        )
