"""What README and docs/ print runs as it stands there, beside a small `my.tsv`; their links lead somewhere."""

import importlib
import re
import shlex
from pathlib import Path

import pandas
import pytest
import yaml
from datasets import Dataset

from as2lib import Study
from as2lib.cli import main
from as2lib.commands import training
from as2lib.data import load_pairs

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = ("README.md", "docs/index.md", "docs/own_data.md", "docs/production.md", "docs/extend.md")
BLOCK = re.compile(r"^```(\w+)(?: title=\"(.+?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FEW = 30  # questions of a file whose 7,000 the pages train on


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own to paste into, where sets are written small and trained on once over."""
    train, to_csv = training.train, Dataset.to_csv

    def few(pairs, *arguments, **options):
        chosen = set(list(dict.fromkeys(pairs["question_id"]))[: 40 * FEW : 40])
        rows = [row for row, name in enumerate(pairs["question_id"]) if name in chosen]
        return to_csv(pairs.select(rows), *arguments, **options)

    (tmp_path / "params").mkdir()
    monkeypatch.setenv("AS2_ROOT", str(tmp_path))
    load_pairs("sample-transfer", "dev", "all").to_csv(tmp_path / "my.tsv", sep="\t", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(training, "train", lambda *arguments, **options: train(*arguments, **options | {"epochs": 1}))
    monkeypatch.setattr(Dataset, "to_csv", few)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_runs(page, place):
    names: dict = {}
    for language, file, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(compile(text, page, "exec"), names)
        elif language == "bash":
            for line in text.splitlines():
                assert run(line) == 0, line
        elif language == "yaml" and text.startswith("own:"):
            shorten(place / "params" / "mine.yaml", yaml.safe_load(text))


def run(line: str) -> int:
    """The exit code of a line of a page: a command of ours, a line of Python, or a comment."""
    words = shlex.split(line, comments=True)
    if words[:2] == ["python", "-c"]:
        exec(words[2], {})
    elif words:
        assert words[0] == "as2"
        return main(words[1:])
    return 0


def shorten(path: Path, section: dict) -> None:
    """A study's file with a section, and fits of two steps."""
    content = yaml.safe_load(path.read_text(encoding="utf-8")) | section
    for fit in content["fit"].values():
        fit |= {"steps": 2, "evaluate_every": 2}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, "docs/scale.md", "docs/numbers.md", "SECURITY.md", "CONTRIBUTING.md"])
def test_every_link_leads_somewhere(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
    made = {"reports/wikiqa/figures/11_figure_1.png"}  # by `make study STUDY=wikiqa`
    assert not [link for link in links if not (path.parent / link).exists() and link not in made]


def test_the_library_has_what_its_page_lists():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    for module, members in re.findall(r"^::: ([\w.]+)(?:\n    options: \{members: \[(.+?)\]\})?$", text, re.MULTILINE):
        for name in filter(None, members.split(", ")):
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"
        assert importlib.import_module(module).__doc__


def test_expected_scores_are_those_of_the_published_runs():
    from tests.scores import page

    assert (DOCS / "scores.md").read_text(encoding="utf-8") == page() + "\n"


def test_the_readmes_table_is_the_overviews():
    path = ROOT / "reports" / "wikiqa" / "tables" / "00_table_1.csv"
    if not path.exists():
        pytest.skip("reports/wikiqa was not made yet")
    rows = re.findall(r"^\| (.+?) \|(.+)\|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    cells_of = {label: [cell.strip() for cell in rest.split("|")] for label, rest in rows}
    table = pandas.read_csv(path).set_index("run")
    for run, system in Study.load("wikiqa").systems.items():
        if system.label not in cells_of:
            continue
        cells, values = cells_of[system.label], table.loc[run]
        assert int(cells[0].replace(",", "")) == values["parameters"], run
        assert cells[1] == f"{values['cost ×']:.2f}", run
        for metric, cell in zip(("P@1", "MAP"), cells[2:4], strict=True):
            spread = values[f"{metric} ±"]
            assert cell == f"{values[metric]:.1f}" + ("" if pandas.isna(spread) else f" ± {spread:.1f}"), run
