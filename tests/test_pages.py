"""The pages of a whole study in a real browser: Debian's chromium, which Playwright drives."""

import re
import shutil
from contextlib import suppress
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import matplotlib
import nbformat
import pytest

from as2lib.report.pages import page_name, render
from tests.conftest import write_study
from tests.invented import invent, run_all, whole
from tests.test_sentences import NOBODY_SAYS

matplotlib.use("agg")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
with suppress(ImportError):
    from playwright.sync_api import sync_playwright
absent = CHROMIUM is None or "sync_playwright" not in globals()
needs_browser = pytest.mark.skipif(absent, reason="needs chromium (apt-get install chromium) and playwright")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
PHONE, DESK, PAPER = 390, 1440, 1032  # widths in pixels; paper: A4 across without its margins


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(folder of the pages, what each notebook read and said)."""
    from as2lib.data.pairs import load_parts

    load_parts.cache_clear()
    root = tmp_path_factory.mktemp("pages") / "root"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AS2_ROOT", str(root))
        study = whole(write_study(root))
        patch.setattr("as2lib.study.Study.variant", property(lambda self: self.study))
        invent(study)
        found = run_all(study, patch)
    folder, names = root / "reports" / "tiny", sorted(one.name for one, *_ in found)
    for one, *_, notebook in found:
        nbformat.write(notebook, root / f"{one.name}.ipynb")
        render(root / f"{one.name}.ipynb", folder / f"{page_name(one.name)}.html", names)
    return folder, found


@pytest.fixture(scope="module")
def pages(made):
    return sorted(made[0].glob("*.html"))


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def tab(browser):
    context = browser.new_context(viewport={"width": DESK, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def each(tab, pages):
    for page in pages:
        tab.goto(page.as_uri())
        yield page.stem


def test_every_notebook_reads_only_runs_on_its_list_and_says_what_a_person_would(made):
    for planned, read, said, _ in made[1]:
        assert read <= set(planned.runs), f"{planned.name} reads {sorted(read - set(planned.runs))}"
        for what in ("a value that is missing", "minus zero, plus zero", "a sign after a verb", "a count of zero"):
            assert not re.search(NOBODY_SAYS[what], said), f"{planned.name}, {what}: {said}"


@needs_browser
def test_a_page_fits_is_silent_and_asks_nothing_of_the_outside(tab, pages):
    complaints, asked = [], []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    for name in each(tab, pages):
        for width in (PHONE, DESK):
            tab.set_viewport_size({"width": width, "height": 844})
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, (name, width, scheme)
                paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (paper == "rgb(255, 255, 255)") == (scheme == "light"), (name, scheme)
            of_svg = "svg => svg.clientWidth / svg.viewBox.baseVal.width"
            drawn = tab.evaluate(f"[...document.querySelectorAll('figure svg')].map({of_svg})")
            # letters of 11 points stay larger than 8.6 pixels
            assert all(scale >= 0.79 for scale in drawn), (name, width, drawn)
    assert complaints == []
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data"}


@needs_browser
def test_on_paper_no_column_is_clipped_and_only_the_text_is_left(tab, pages):
    tab.set_viewport_size({"width": PAPER, "height": 700})
    tab.emulate_media(media="print")
    for name in each(tab, pages):
        wide = "[...document.querySelectorAll('table, figure svg, pre')].filter(t => t.getBoundingClientRect().right"
        assert tab.evaluate(f"{wide} > innerWidth + 1).map(t => t.id || t.tagName)") == [], name
        assert not tab.locator("aside").is_visible()
        assert tab.locator("main").is_visible()


@needs_browser
def test_headings_are_in_order_and_figures_say_what_they_are(tab, pages):
    for name in each(tab, pages):
        levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(h => +h.tagName[1])")
        assert levels[0] == 1, name
        assert levels.count(1) == 1, name
        assert all(b <= a + 1 for a, b in pairwise(levels)), (name, levels)
        of_svg = (
            "s => [s.getAttribute('role'), s.querySelector('title')?.textContent, s.querySelector('desc')?.textContent]"
        )
        for role, title, description in tab.evaluate(f"[...document.querySelectorAll('svg')].map({of_svg})"):
            assert role == "img", name
            assert title.startswith("Figure "), name
            assert description, name


@needs_browser
def test_links_resolve_and_ids_are_unique(tab, made, pages):
    anchors, links = {}, []
    for name in each(tab, pages):
        found = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(found) == len(set(found)), (name, sorted(one for one in found if found.count(one) > 1)[:3])
        anchors[f"{name}.html"] = set(found)
        links += [(name, link) for link in tab.evaluate("[...document.links].map(a => a.getAttribute('href'))")]
    assert len(links) > 200
    for name, link in links:
        path, fragment = unquote(urlsplit(link).path) or f"{name}.html", unquote(urlsplit(link).fragment)
        assert (made[0] / path).exists(), (name, link)
        assert not fragment or fragment in {unquote(one) for one in anchors[path]}, (name, link)


@needs_browser
def test_a_table_is_sorted_by_a_click_and_its_first_column_stays(tab, made):
    tab.set_viewport_size({"width": PHONE, "height": 844})
    tab.goto((made[0] / "03_distillation.html").as_uri())
    table = tab.locator("#\\30 3_table_1")
    column = "t => [...t.tBodies[0].rows].map(r => parseFloat(r.cells[5].textContent.replace('\u2212', '-')))"
    button, before = table.locator("thead th").nth(5).locator("button"), table.evaluate(column)
    for expected in (sorted(before), sorted(before, reverse=True), before):
        button.click()
        assert table.evaluate(column) == expected
    first = "t => Math.round(t.tBodies[0].rows[0].cells[0].getBoundingClientRect().left)"
    place = table.evaluate(first)
    assert table.evaluate("t => { t.parentElement.scrollLeft = 150; return t.parentElement.scrollLeft }") == 150
    assert table.evaluate(first) == place


@needs_browser
def test_one_switch_shows_all_code_and_folds_it_again(tab, made):
    tab.goto((made[0] / "03_distillation.html").as_uri())
    code = tab.locator("main .input")
    for shown in (0, code.count(), 0):
        assert sum(one.is_visible() for one in code.all()) == shown
        tab.locator("#show-code").click()


@needs_browser
def test_a_row_of_the_main_table_names_the_command_that_makes_it(tab, made):
    tab.goto((made[0] / "index.html").as_uri())
    commands = tab.locator("details.made dd code").all_text_contents()
    assert "as2 fit tiny mhs/3h1/seed-0 mhs/3h1/seed-1" in commands
    assert tab.locator(".made a[href='tables/00_table_1.csv']").count() == 1
